"""Model files: whole, under their right name, and refused with a reason otherwise."""

import json
import os
import pickle
import sys

import pytest

from gamewarden import detectors
from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.errors import ModelError, WriteError
from gamewarden.store import models, sealed
from made_up import GivenNumbers, account_days, labels_of


@pytest.fixture(scope="module")
def model():
    return AccountDay(GivenNumbers()).fit(account_days(), labels_of())


@pytest.fixture
def path(model, tmp_path):
    return models.save(model, tmp_path)


def refusal(path):
    with pytest.raises(ModelError) as caught:
        models.load(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def test_a_model_comes_back_as_it_was(model, path):
    assert path.name == f"{model.id}.json"
    assert detectors.load_model(models.load(path)) == model


def test_saving_the_same_model_again_writes_the_same_bytes(model, path):
    before = path.read_bytes()

    assert models.save(model, path.parent).read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_flipped_bit_is_noticed(model, path):
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            same = models.load(path) == model.to_dict()
        except ModelError:
            continue
        assert same, f"byte {at} was changed and the model with it"  # a flipped blank changes nothing


def test_an_edited_number_is_refused(path, model):
    edited(path, f'"strength": {model.strength!r}', '"strength": 12345.0')

    assert "does not fit its sha256" in refusal(path)


def test_a_truncated_file_is_refused_wherever_it_ends(path):
    whole = path.read_bytes()
    for size in range(0, len(whole) - 2, len(whole) // 40):
        path.write_bytes(whole[:size])
        assert "ends early" in refusal(path)


def test_a_newer_format_is_refused_with_advice(path):
    assert "format version is 2 and this gamewarden reads 1; install a newer" in refusal(
        edited(path, '"version": 1', '"version": 2')
    )


@pytest.mark.parametrize("version", ["0", "true", '"1"', "null", "1.5"])
def test_another_version_is_refused(path, version):
    assert "format version is" in refusal(edited(path, '"version": 1', f'"version": {version}'))


class RunsOnLoad:
    def __reduce__(self):
        return (os.mkdir, ("it-ran",))


@pytest.mark.parametrize("protocol", [0, 1, 2, 5])
def test_a_pickle_in_disguise_is_refused_and_does_not_run(path, protocol, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps(RunsOnLoad(), protocol=protocol))

    assert "this is a Python pickle, which could run code, not a model" in refusal(path)
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "ends early"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"PK\x03\x04", "zip archive"),
        (b"PAR1", "Parquet"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"hello", "not JSON"),
        (b"[]", "not a model of gamewarden"),
        (b"{}", "not a model of gamewarden"),
        (b'{"format": "gamewarden-model", "format": "gamewarden-model"}', "names a key twice"),
        (b'{"format": "gamewarden-model", "version": NaN}', "holds NaN"),
        (b'{"format": "gamewarden-model", "version": -Infinity}', "holds -Infinity"),
        (b'{"format": "gamewarden-model", "version": 1, "sha256": "", "model": []}', "a model file holds"),
        (b'{"format": "gamewarden-model", "version": 1, "model": {}}', "a model file holds"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested deeper"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "too long"),
    ],
)
def test_what_is_no_model_is_refused_with_its_own_line(tmp_path, content, words):
    path = tmp_path / "account-day@0123456789ab.json"
    path.write_bytes(content)

    assert words in refusal(path)


def test_a_number_too_large_for_a_float_is_refused(path, model):
    edited(path, f'"strength": {model.strength!r}', '"strength": 1e999')

    assert "finite" in refusal(path)


def resealed(path, change):
    """A file changed by someone who knows the format."""
    envelope = json.loads(path.read_text())
    change(envelope["model"])
    envelope["sha256"] = sealed.sha256(envelope["model"])
    path.write_text(json.dumps(envelope))
    return path


def test_a_name_that_its_recipe_and_data_do_not_make_is_refused(path):
    assert "but its recipe and data make it" in refusal(resealed(path, lambda m: m.update(data="another")))


def test_a_model_without_its_parts_is_refused(path):
    assert "lacks data, recipe" in refusal(resealed(path, lambda m: (m.pop("data"), m.pop("recipe"))))


@pytest.mark.parametrize(
    "change", [{"recipe": 3}, {"feature": []}, {"feature": {"name": "x", "options": [1]}}, {"feature": {"name": "x"}}]
)
def test_a_recipe_that_is_no_object_is_refused(path, change):
    assert "not an object" in refusal(resealed(path, lambda m: m.update(change)))


def test_a_file_under_another_models_name_is_refused(path):
    other = path.with_name("account-day@0123456789ab.json")
    path.rename(other)

    assert "not that of the model in it" in refusal(other)


def test_a_copy_under_a_name_of_ones_own_is_read(path, model):
    copy = path.with_name("best.json")
    path.rename(copy)

    assert models.load(copy)["id"] == model.id


def test_a_missing_file_and_a_directory_are_refused(tmp_path):
    assert "cannot be read" in refusal(tmp_path / "none.json")
    assert "cannot be read" in refusal(tmp_path)


def test_a_file_too_large_for_a_model_is_refused_unread(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(sealed.LARGEST + 1)

    assert "too many for a model" in refusal(path)


def test_the_newest_model_of_each_detector_is_found(model, tmp_path):
    old = models.save(AccountDay(GivenNumbers(), seed=1).fit(account_days(), labels_of()), tmp_path)
    new = models.save(model, tmp_path)
    alone = models.save(SelfSimilarityAlone(GivenNumbers()).fit(account_days(), labels_of()), tmp_path)
    for at, file in enumerate((old, new, alone)):
        os.utime(file, ns=(at * 10**9, at * 10**9))
    (tmp_path / "notes.json").write_text("{}")

    assert [entry.path for entry in models.stored(tmp_path)] == [old, new, alone]
    assert [(entry.detector, entry.path) for entry in models.newest(tmp_path)] == [
        ("account-day", new),
        ("self-similarity", alone),
    ]


def test_a_directory_without_models_says_how_to_make_one(tmp_path):
    with pytest.raises(ModelError, match="no such directory; `gamewarden fit"):
        models.stored(tmp_path / "none")
    with pytest.raises(ModelError, match="there is no model in it"):
        models.newest(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="a file is no directory there either, with another message")
def test_a_place_that_cannot_be_written_is_named(model, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(WriteError, match="cannot be written"):
        models.save(model, tmp_path / "file")
