"""The screen of words: every word has its meaning, and one can be looked up."""

from support.app_screens import screen, texts

from sliceplan.app.widgets.words import WORDS, meaning


def test_every_word_is_there_and_one_can_be_looked_up():
    page = screen("words")
    assert not page.exception
    shown = texts(page.markdown)
    assert all(word in shown and said in shown for word, said in WORDS.items())
    page.text_input(key="words_asked").set_value("GAP").run()
    assert meaning("above the least") in texts(page.markdown)
    assert meaning("MIG") not in texts(page.markdown)
    page.text_input(key="words_asked").set_value("zebra").run()
    assert "No such word" in texts(page.info)
