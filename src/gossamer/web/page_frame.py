"""How a page is shown to whoever asks."""

from collections.abc import Callable

from fastapi.responses import HTMLResponse

from gossamer.web.access.tokens import may_change
from gossamer.web.render import make_templates

Show = Callable[..., HTMLResponse]
"""(template, status, **values) -> a page."""


def make_show() -> Show:
    templates = make_templates()

    def show(template: str, status_code: int = 200, **values: object) -> HTMLResponse:
        page = templates.get_template(template).render(may_change=may_change(), **values)
        return HTMLResponse(page, status_code)

    return show
