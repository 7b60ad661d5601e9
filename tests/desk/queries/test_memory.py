"""What the desk remembers between two looks."""

import threading

import pytest

from gamewarden.desk.memory import Memory, looks_of


def test_an_answer_is_found_once_however_many_ask_at_once():
    memory, made, answers = Memory(), [], []
    begin = threading.Barrier(8)

    def make():
        made.append(1)
        return "found"

    def ask():
        begin.wait()
        answers.append(memory.of("events", "somebody", make))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert (len(made), answers) == (1, ["found"] * 8)


def test_the_oldest_answers_make_room():
    memory = Memory()
    for key in range(5):
        memory.of("events", key, lambda: "old", most=2)

    assert memory.of("events", 4, lambda: "new", most=2) == "old"
    assert memory.of("events", 0, lambda: "new", most=2) == "new"


def test_what_failed_is_tried_again():
    memory = Memory()
    with pytest.raises(ZeroDivisionError):
        memory.of("events", "somebody", lambda: 1 / 0)

    assert memory.of("events", "somebody", lambda: 1) == 1


def test_a_file_that_changed_looks_otherwise(tmp_path):
    path = tmp_path / "file"
    before = looks_of(path, None)
    path.write_text("one")
    there = looks_of(path, None)
    path.write_text("one more")

    assert before == (None, None)
    assert before != there != looks_of(path, None)
