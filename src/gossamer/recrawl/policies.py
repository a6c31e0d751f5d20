"""The policies by name."""

from collections.abc import Callable

from gossamer.recrawl.age import Age
from gossamer.recrawl.paper import Paper, Tree
from gossamer.recrawl.policy import Policy
from gossamer.recrawl.uniform import Uniform

POLICIES: dict[str, Callable[[float], Policy]] = {
    "age": Age,
    "uniform": Uniform,
    "paper": lambda _: Paper(),
    "tree": lambda _: Tree(),
}
DEFAULT = "age"


def policy_named(name: str, per_page: float) -> Policy:
    """`per_page`: visits a page and day that the budget allows. REQUIRES: a name of `POLICIES`, per_page above 0."""
    return POLICIES[name](per_page)
