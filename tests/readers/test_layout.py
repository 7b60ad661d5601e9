"""How text files are written: other letters than UTF-8, no header, and SQL's ways to say null."""

import gzip
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from gamewarden.errors import ConfigError, GamewardenError, ReadError
from gamewarden.readers.captures.packet_log import TableStream
from gamewarden.readers.captures.packets import Origin
from gamewarden.readers.logs.layout import likely_encodings
from gamewarden.readers.logs.lint import lint
from gamewarden.readers.logs.mapping import LogMap, parse_mapping
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles, read_table
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.lake import Lake

AT = "2024-01-01T00:00:00Z"
ENCODINGS = {
    "cp949": "김철수",
    "euc-kr": "김철수",
    "shift_jis": "山田太郎ソ能",  # whose second bytes are a backslash and a bar
    "euc-jp": "山田のキツネ",
    "gb18030": "王小明",
    "big5": "王小明功",
    "cp1251": "Жук",
    "latin-1": "Müller",
    "utf-16": "김철수🐱",
    "utf-16-le": "김철수",
    "utf-16-be": "김철수",
    "utf-32": "김철수",
}
SLOW_FIXTURE = [HealthCheck.function_scoped_fixture]


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def mapped(text):
    return parse_mapping(text, "m")


def rows(file, *columns):
    return [tuple(row.values()) for batch in file.batches(columns) for row in batch.to_pylist()]


# --- Null

SQL = rf"""actor,at,kind,ip,other,level,zone
a,{AT},k,10.0.0.1,NULL,3,NULL
b,{AT},k,\N,b2,\N,z
NULL,{AT},k,\N,NULL,4,z
\N,{AT},k,,,,z
d,NULL,k,,,,z
e,{AT},\N,,,,z
f,{AT},k,"NULL","\N",5,"NULL"
g,{AT},k,Null,N,5,NULLED
"""


def test_null_of_sql_is_null_in_every_column(tmp_path):
    file = EventFile(write(tmp_path / "log.csv", SQL), max_bad_share=1)

    assert rows(file, "actor", "ip", "other", "level", "zone") == [
        ("a", "10.0.0.1", None, 3, None),
        ("b", None, "b2", None, "z"),
        ("f", "NULL", r"\N", 5, "NULL"),
        ("g", "Null", "N", 5, "NULLED"),
    ]


def test_rows_whose_actor_time_or_kind_is_null_are_bad_and_counted(tmp_path):
    file = EventFile(write(tmp_path / "log.csv", SQL), max_bad_share=1)
    rows(file, "actor", "ip", "other", "level", "zone")

    assert {fault.reason: fault.count for fault in file.report.bad} == {
        "actor is missing": 2,
        "time is missing": 1,
        "kind is missing": 1,
    }
    assert {fault.reason: (fault.count, fault.example) for fault in file.report.notes} == {
        r"column 'actor' says null (\N or NULL)": (2, "first in row 3"),
        r"column 'at' says null (\N or NULL)": (1, "first in row 5"),
        r"column 'kind' says null (\N or NULL)": (1, "first in row 6"),
        r"column 'ip' says null (\N or NULL)": (2, "first in row 2"),
        r"column 'other' says null (\N or NULL)": (2, "first in row 1"),
        r"column 'level' says null (\N or NULL)": (1, "first in row 2"),
        r"column 'zone' says null (\N or NULL)": (1, "first in row 1"),
    }
    assert file.report.nulled == ()


def test_lint_says_how_often_a_column_says_null(tmp_path):
    found = lint(write(tmp_path / "log.csv", SQL))

    assert r"Note: column 'ip' says null (\N or NULL) in 2 rows (first in row 2)." in found.sentences()
    assert ("rows", r"column 'ip' says null (\N or NULL)", 2, "noted: first in row 2") in found.table().rows()


def test_a_list_of_its_own_replaces_what_means_null_also_in_quotes(tmp_path):
    path = write(tmp_path / "log.csv", f'actor,at,kind,ip\na,{AT},k,-\nb,{AT},k,"none"\nc,{AT},k,NULL\nd,{AT},k,\n')

    file = EventFile(path, mapped('[file]\nnull = ["-", "none"]'))

    assert rows(file, "actor", "ip") == [("a", None), ("b", None), ("c", "NULL"), ("d", None)]


def test_an_empty_list_leaves_empty_fields_alone_as_null(tmp_path):
    path = write(tmp_path / "log.csv", f"actor,at,kind,ip\nNULL,{AT},k,\\N\nd,{AT},k,\n")

    file = EventFile(path, mapped("[file]\nnull = []"))

    assert rows(file, "actor", "ip") == [("NULL", r"\N"), ("d", None)]


@pytest.mark.parametrize("word", ["null", "None", "(null)", "-", "NaN"])
def test_lint_suspects_a_name_that_means_nothing(tmp_path, word):
    lines = [f"{word},{AT},k"] * 3 + [f"b,{AT},k"]
    found = lint(write(tmp_path / "log.csv", "\n".join(["actor,at,kind", *lines])))

    assert any(f"actor is {word!r} in 3 rows" in line and "null under [file]" in line for line in found.suspicions)


def test_small_tables_know_null_too(tmp_path):
    labels = write(tmp_path / "labels.csv", "actor,bot,since,group\na,1,NULL,\\N\nb,0,,g\n")
    profiles = write(tmp_path / "profiles.csv", "actor,level,payment,own\na,NULL,\\N,NULL\nb,3,1.5,7\n")

    assert read_labels(labels).frame.select("actor", "since", "group").rows() == [("a", None, None), ("b", None, "g")]
    assert read_profiles(profiles).select("level", "payment", "own").rows() == [(None, None, None), (3, 1.5, 7)]


def test_a_label_of_nobody_is_refused_in_one_line(tmp_path):
    with pytest.raises(ReadError, match="row 1: actor is None; it must always be there"):
        read_labels(write(tmp_path / "labels.csv", "actor,bot\nNULL,1\n"))


def test_an_account_table_with_null_keeps_its_numbers(tmp_path):
    frame = read_table(write(tmp_path / "t.csv", "actor,n\na,NULL\nb,2\n"))

    assert frame["n"].to_list() == [None, "2"]


def test_packets_of_nobody_are_left_out(tmp_path):
    stream = TableStream(Origin(str(write(tmp_path / "p.csv", f"actor,at,up,size\nNULL,{AT},1,9\na,{AT},1,9\n"))))

    assert [batch["actor"].to_pylist() for batch in stream.batches()] == [["a"]]
    assert stream.report.left_out == {"without an actor": 1}


# --- Encodings


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize(("encoding", "name"), ENCODINGS.items(), ids=ENCODINGS)
def test_a_log_in_its_own_letters_is_read(tmp_path, encoding, name, packing):
    text = f'{name},at,kind,zone\r\n{name},{AT},k,"{name}, {name}"\r\n'
    data = text.encode(encoding)
    packed = {"plain": data, "gzip": gzip.compress(data), "zstd": pa.Codec("zstd").compress(data, asbytes=True)}
    path = write(tmp_path / "log", packed[packing])
    mapping = mapped(f'[file]\nencoding = "{encoding}"\n[columns]\nactor = "{name}"\nzone = "zone"')

    assert rows(EventFile(path, mapping), "actor", "zone") == [(name, f"{name}, {name}")]


@pytest.mark.parametrize("encoding", ["cp949", "utf-16"])
def test_json_lines_may_have_an_encoding_too(tmp_path, encoding):
    path = write(tmp_path / "log", f'{{"actor": "김철수", "at": "{AT}", "kind": "k"}}\n'.encode(encoding))

    assert rows(EventFile(path, mapped(f'[file]\nencoding = "{encoding}"')), "actor") == [("김철수",)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("said", [None, "cp949"])
def test_a_byte_order_mark_says_it_best(tmp_path, encoding, said):
    path = write(tmp_path / "log", f"actor\tat\tkind\n김철수\t{AT}\tk\n".encode(encoding))
    mapping = mapped(f'[file]\nencoding = "{said}"') if said else None

    assert rows(EventFile(path, mapping), "actor") == [("김철수",)]


def test_a_label_table_as_spreadsheets_save_it_is_read(tmp_path):
    assert (
        read_labels(write(tmp_path / "l.txt", "actor\tbot\n김철수\t1\n".encode("utf-16"))).frame["actor"][0] == "김철수"
    )


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_letters_across_pieces_are_put_together(tmp_path, size):
    lines = [f"{'김' * (place % 5)}x{place},{AT},k" for place in range(40_000)]
    path = write(tmp_path / "log", "\n".join(["actor,at,kind", *lines]).encode("cp949") + b"\n" * size)

    found = [actor for (actor,) in rows(EventFile(path, mapped('[file]\nencoding = "cp949"')), "actor")]

    assert found == [line.partition(",")[0] for line in lines]


def test_bytes_that_are_none_of_the_encoding_make_a_bad_row(tmp_path):
    lines = [f"a,{AT},k".encode(), b"\xff\xff," + f"{AT},k".encode(), "김".encode("cp949") + f",{AT},k".encode()]
    file = EventFile(
        write(tmp_path / "log", b"\n".join([b"actor,at,kind", *lines])),
        mapped('[file]\nencoding = "cp949"'),
        max_bad_share=0.5,
    )

    assert rows(file, "actor") == [("a",), ("김",)]
    assert [fault.reason for fault in file.report.bad] == ["actor is not cp949"]


def test_a_log_that_is_not_utf8_is_one_line_that_says_what_to_set(tmp_path):
    text = "actor,at,kind\n" + "".join(f"김철수{place},{AT},k\n" for place in range(5))
    path = write(tmp_path / "log", text.encode("cp949"))

    with pytest.raises(ReadError) as caught:
        rows(EventFile(path), "actor")

    assert 'byte 14 is the first that is not UTF-8; say encoding = "cp949"' in str(caught.value)
    assert "under [file] in a mapping file" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_header_that_is_not_utf8_says_what_to_set(tmp_path):
    path = write(tmp_path / "log", f"계정,시각,종류\na,{AT},k\n".encode("cp949"))

    with pytest.raises(ReadError, match=r'header is not UTF-8; byte 0 .* say encoding = "cp949"'):
        EventFile(path)


def test_the_wrong_encoding_is_named_with_a_better_one(tmp_path):
    path = write(tmp_path / "log", ("actor,at,kind\n" + f"山田太郎ソ,{AT},k\n" * 3).encode("shift_jis"))

    with pytest.raises(ReadError, match=r'is the first that is not euc-kr; say encoding = "cp932"'):
        rows(EventFile(path, mapped('[file]\nencoding = "euc-kr"')), "actor")


def test_utf16_without_a_mark_is_asked_for(tmp_path):
    with pytest.raises(ReadError, match='say encoding = "utf-16-le" or "utf-16-be" under'):
        EventFile(write(tmp_path / "log", f"actor,at,kind\na,{AT},k\n".encode("utf-16-le")))


def test_lint_says_what_to_set(tmp_path):
    path = write(tmp_path / "log", f"actor,at,kind\n김철수,{AT},k\nb,{AT},k\n".encode("cp949"))

    assert any('say encoding = "cp949"' in line for line in lint(path).advice)
    assert lint(path, mapped('[file]\nencoding = "cp949"')).form == "CSV, in cp949"


def test_a_small_table_that_is_not_utf8_says_so(tmp_path):
    with pytest.raises(ReadError, match=r"column 'actor' is not UTF-8; save the file as UTF-8 .*cp949"):
        read_labels(write(tmp_path / "labels.csv", "actor,bot\n김철수,1\n".encode("cp949")))


@pytest.mark.parametrize(("encoding", "name"), list(ENCODINGS.items())[:7], ids=list(ENCODINGS)[:7])
def test_the_true_encoding_is_among_the_first_three_guesses(encoding, name):
    like = {"euc-kr": "cp949", "shift_jis": "cp932"}

    assert like.get(encoding, encoding) in likely_encodings(f"{name},x\n".encode(encoding))[:3]


# --- Headers


def test_a_log_without_a_header_names_its_columns_by_their_places(tmp_path):
    path = write(tmp_path / "log", f"\ufeff{AT};a;k;3\n{AT};b;k;4\n")
    mapping = mapped('[file]\nheader = false\n[columns]\nat = "1"\nactor = "2"\nkind = "3"\nlevel = "4"')

    assert rows(EventFile(path, mapping), "actor", "level") == [("a", 3), ("b", 4)]


def test_a_log_without_a_header_may_be_given_one(tmp_path):
    path = write(tmp_path / "log.gz", gzip.compress(f'"a, b",{AT},k\nb,{AT},k\n'.encode()))

    file = EventFile(path, mapped('[file]\nheader = ["actor", "at", "kind"]'))

    assert rows(file, "actor") == [("a, b",), ("b",)]
    assert file.report.rows == 2


def test_a_header_of_another_length_is_refused(tmp_path):
    path = write(tmp_path / "log", f"a,{AT},k,9\n")

    with pytest.raises(ReadError, match="names 3 columns, the first row has 4"):
        EventFile(path, mapped('[file]\nheader = ["actor", "at", "kind"]'))


# --- Mappings


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('encoding = "klingon"', "encoding 'klingon' is unknown; write for example cp949"),
        ('encoding = "hex"', "encoding 'hex' is unknown"),
        ("encoding = 949", "encoding 949 is unknown"),
        ('null = "-"', r"\[file\] null is '-'; it must be a list of quoted values"),
        ("null = [0]", r"\[file\] null is \[0\]; it must be a list"),
        ('header = "no"', r"\[file\] header is 'no'; it must be true, false, or the columns in order"),
        ('header = ["a", "a"]', "each once"),
        ("headers = true", "unknown key 'headers'; did you mean 'header'"),
    ],
)
def test_what_a_mapping_cannot_mean_is_refused(text, says):
    with pytest.raises(ConfigError, match=says):
        mapped(f"[file]\n{text}")


def test_only_a_layout_of_its_own_makes_another_recipe():
    plain = mapped("").digest

    assert plain == LogMap().digest == mapped("[file]\nheader = true").digest
    assert len({plain, *(mapped(f"[file]\n{text}").digest for text in ('encoding = "cp949"', "null = []"))}) == 3


def test_a_lake_knows_a_file_in_other_letters_again(tmp_path):
    data = f"actor,at,kind\n김철수,{AT},k\n".encode("cp949")
    mapping = mapped('[file]\nencoding = "cp949"')
    lake = Lake(tmp_path / "lake")

    first = lake.add(EventFile(write(tmp_path / "log", data), mapping).numbered())
    again = lake.add(EventFile(write(tmp_path / "other.gz", gzip.compress(data)), mapping).numbered())
    grown = lake.add(EventFile(write(tmp_path / "log", data + f"b,{AT},k\n".encode()), mapping).numbered())

    assert (first.new, again.new, grown.new) == (1, 0, 1)
    with pytest.raises(GamewardenError):
        lake.add(EventFile(write(tmp_path / "log", data), mapped('[file]\nencoding = "euc-kr"')).numbered())


# --- Anything at all

LETTERS = st.text(st.characters(codec="cp949", exclude_categories=["Cc"]), max_size=8)


@pytest.mark.parametrize("encoding", ["cp949", "utf-16", "utf-16-be", "utf-8"])
@given(names=st.lists(LETTERS.filter(lambda name: name not in ("", "NULL", r"\N")), min_size=1, max_size=8))
def test_what_was_written_in_an_encoding_is_read(tmp_path, encoding, names):
    frame = pl.DataFrame({"actor": names, "at": [datetime(2024, 1, 1, tzinfo=UTC)] * len(names), "kind": names})
    text = frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%SZ")
    path = write(tmp_path / "log", text.encode(encoding))

    found = rows(EventFile(path, mapped(f'[file]\nencoding = "{encoding}"')), "actor", "kind")

    assert found == [(name, name) for name in names]


@pytest.mark.parametrize("encoding", ["cp949", "shift_jis", "gb18030", "utf-16", "utf-32-le", "iso2022_kr", "hz"])
@given(data=st.binary(max_size=120), header=st.sampled_from(["true", "false", '["actor", "at", "kind"]']))
def test_any_bytes_in_any_encoding_give_events_or_one_line_of_ours(tmp_path, encoding, data, header):
    path = write(tmp_path / "log", f"actor,at,kind\nNULL,{AT},k\n".encode(encoding) + data)
    mapping = mapped(f'[file]\nencoding = "{encoding}"\nheader = {header}\nnull = ["NULL", "", "k"]')

    try:
        file = EventFile(path, mapping, max_bad_share=1)
        found = rows(file, "actor")
    except GamewardenError as error:
        assert "\n" not in str(error)  # noqa: PT017 - an error is one of two right answers here
    else:
        assert len(found) == file.report.kept


@pytest.mark.parametrize("name", ["utf-16", "utf-32"])
def test_without_a_byte_order_mark_two_or_four_bytes_a_letter_are_read_as_windows_writes_them(tmp_path, name):
    log = write(tmp_path / "log", f"actor,at,kind\n김철수,{AT},k\n".encode(f"{name}-le"))

    assert rows(EventFile(log, mapped(f'[file]\nencoding = "{name}"\n')), "actor") == [("김철수",)]
