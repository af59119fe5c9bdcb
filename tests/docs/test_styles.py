"""Pages that are looked at for their colours have all that are anywhere."""

from __future__ import annotations

from pathlib import Path

from docs.styles import fewest_pages, styles_of


def test_a_page_with_a_style_of_its_own_is_chosen(tmp_path: Path) -> None:
    texts = {
        "long": "<body><p>" + "word " * 99 + "</p></body>",
        "short": "<body><p>word</p><br><img src=a></body>",
        "alike": "<body><p>words</p></body>",
        "class": "<body><p class='b a'>word</p></body>",
        "parent": "<body><div><p>word</p></div></body>",
        "style": "<body><p style='color:#ccc'>word</p></body>",
        "drawn": "<body><svg><rect fill='#eee'/><text>word</text></svg></body>",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    chosen = {path.stem for path in fewest_pages(list(tmp_path.iterdir()))}
    assert chosen == {"short", "class", "parent", "style", "drawn"}


def test_classes_have_no_order_and_what_is_closed_is_no_parent() -> None:
    assert styles_of("<p class='b a'>") == styles_of("<p class='a  b'></p>")
    assert styles_of("<p>a</p><b>c</b>") != styles_of("<p>a<b>c</b></p>")
    assert styles_of("<br><b>c</b>") == styles_of("<br/><b>c</b>")
