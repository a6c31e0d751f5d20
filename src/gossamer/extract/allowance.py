"""How much may still be written out for a page, where elements inside one another would repeat the same words."""


class Allowance:
    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, letters: int) -> bool:
        """Whether there was enough. To be asked before the work is done, as far as its length is known."""
        self.left -= letters
        return self.left > 0
