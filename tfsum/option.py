"""How a field of a settings class stands on the command line."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Option:
    """What the annotation of a field says to the command line, beside type, default and meaning.

    A field without it is an option too, with a name from that of the field. Nothing of it is in the
    JSON Schema of the class. `tfsum.cli.options.add_settings` reads it.

    Args:
        flags: Further flags, such as "-n"; with a long one among them, such as "--label", that is
            the name of the option in the place of the field's.
        metavar: Name of the value in the help.
        group: Title of the group of options in the help.
        exclusive: Name of a set of options of a group, of which a call may have one at most.
        hidden: Whether the field is no option.

    Example:
        >>> from typing import Annotated
        >>> import pydantic
        >>> class Limits(pydantic.BaseModel):
        ...     words: Annotated[int, Option("-w", metavar="N"), pydantic.Field(ge=1)] = 100
        >>> Limits.model_fields["words"].metadata[0].flags
        '-w'
        >>> Limits.model_json_schema()["properties"]["words"]
        {'default': 100, 'minimum': 1, 'title': 'Words', 'type': 'integer'}
    """

    flags: str = ""
    metavar: str | None = None
    group: str = ""
    exclusive: str = ""
    hidden: bool = False
