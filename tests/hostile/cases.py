"""A case: a call of calcli in a folder of files."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Case:
    """A call of calcli in a folder of files.

    Attributes
    ----------
    arguments
        Behind the name of the command calcli.
    stdin
        The file that is piped in, if any.
    environment
        Variables beside those that every case has.
    again
        The arguments of another call behind it, which has to say the same.
    alike
        How far: a name in `agreeing.LIKENESSES`.
    found
        What was wrong already while the files were made by calcli.
    kind
        What is hostile.
    outputs
        Where the call may write.
    """

    arguments: list[str]
    stdin: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    again: list[str] = field(default_factory=list)
    alike: str = "all"
    found: list[str] = field(default_factory=list)
    kind: str = ""
    outputs: list[str] = field(default_factory=list)

    @property
    def command(self) -> str:
        return next((word for word in self.arguments if word != "--"), "")

    def value(self, *names: str) -> str:
        """Return the value of an option, the last if it is given twice."""
        found = ""
        for text, behind in zip(self.arguments, [*self.arguments[1:], ""], strict=True):
            if text in names:
                found = behind
            found = next((text.partition("=")[2] for name in names if text.startswith(f"{name}=")), found)
        return found
