"""Names of other packages that are private there, and that tfsum needs.

Their authors may rename them in any version. setup.cfg allows the versions that were tested, and
where a name is used it is checked first: some, such as a method that is replaced, would be missed
by nobody otherwise.
"""

import importlib

from tfsum.errors import Error


def check_private_names(package: str, owner: object, *names: str) -> None:
    """Checks that private names of another package are there.

    Args:
        package: Name by which the package is imported.
        owner: Class, object or module that has them.
        *names: Names of attributes.

    Raises:
        Error: One is missing.

    Example:
        >>> import keras
        >>> check_private_names("keras", keras.optimizers.Optimizer, "_clip_gradients")
        >>> check_private_names("keras", keras.Model, "_no_name")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.Error: keras ...: has no Model._no_name, a private name that tfsum uses; ...
    """
    if missing := [name for name in names if not hasattr(owner, name)]:
        owner_name = getattr(owner, "__name__", type(owner).__name__)
        version = importlib.import_module(package).__version__  # a nightly has another name for pip
        raise Error(
            f"{package} {version}: has no {owner_name}.{missing[0]}, a"
            " private name that tfsum uses; install a version that tfsum was tested with: pip"
            " install --force-reinstall tfsum"
        )
