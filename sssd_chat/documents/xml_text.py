"""XML read as a stream, without entities: no tree, no expansion, no files from elsewhere."""

from __future__ import annotations

from typing import Any, Protocol

from sssd_chat.documents.document import DocumentError

_CHUNK = 1 << 16


class XmlTarget(Protocol):
    """Gets the elements and the text of an XML file in their order. Names are "{namespace}tag"."""

    def start(self, tag: str, attributes: dict[str, str], /) -> None:
        """An element begins."""

    def end(self, tag: str, /) -> None:
        """An element ends."""

    def data(self, text: str, /) -> None:
        """Text, in pieces of any length."""

    def close(self) -> Any:
        """The file ends."""


def feed_xml(data: bytes, target: XmlTarget) -> None:
    """Gives the content of an XML file to `target`. Raises DocumentError if the file declares
    entities or is not well-formed."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    parser = DefusedXMLParser(target=target)
    try:
        for start in range(0, len(data), _CHUNK):
            parser.feed(data[start : start + _CHUNK])
        parser.close()
    except DefusedXmlException:
        raise DocumentError("declares XML entities, which no harmless document does") from None
    except ParseError as error:
        raise DocumentError(f"is damaged: its XML is not well-formed ({error})") from None


def local_name(tag: str) -> str:
    """The name of an element without its namespace."""
    return tag.rpartition("}")[2]
