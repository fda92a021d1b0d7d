"""Names of this machine, for the server that is bound to it and the client that asks it."""

import ipaddress
import urllib.parse


def is_loopback(host: str) -> bool:
    """Whether the name or address of a host is of this machine.

    Args:
        host: Name or address, without its port.

    Example:
        >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("example.org")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_page_of_another_site(host: str, origin: str, known: str | None) -> bool:
    """Whether a page of another site asks a server of this machine, through its user's browser.

    The page gives the server's address a name of its own (DNS rebinding), or posts to it from its
    own origin.

    Args:
        host: Header `Host` of the request; "" where it has none.
        origin: Header `Origin`; "" where it has none.
        known: Further name of the server, "*" for any, or None.

    Example:
        >>> is_page_of_another_site("localhost:8501", "http://localhost:8501", None)
        False
        >>> is_page_of_another_site("localhost:8501", "https://example.org", None)
        True
    """
    if known == "*":
        return False
    addresses = filter(None, (host and f"//{host}", origin))
    names = [urllib.parse.urlsplit(address).hostname or "" for address in addresses]
    return not all(is_loopback(name) or name == known for name in names)
