"""Shows our docstrings' `Example:` as code: griffe knows the section as `Examples:`."""

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the section before the docstring is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
