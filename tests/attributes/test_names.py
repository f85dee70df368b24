"""Given names from a file: what is paired, what is left out, and what an error says."""

from __future__ import annotations

import pickle

import pytest
from datasets.fingerprint import Hasher
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute, load_names
from hf_fairness.attributes.names import with_names
from hf_fairness.augment import CounterfactualSwap, swap

HEADER = "# source: Registry of Nowhere\n# date: 2001-01\n"


@pytest.fixture
def write(tmp_path):
    def writer(content: str, name: str = "names.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return writer


def pairs(table) -> list[tuple[str, str]]:
    return [(pair.names["male"], pair.names["female"]) for pair in table.pairs]


def test_equal_ranks_are_pairs_and_the_rest_is_counted(write):
    path = write(
        HEADER + "name,sex,count,region\nOlga,F,90,x\nIvan,M,80,x\nKIM,F,60,x\nKim,M,50,x\nanna,female,40,x\n"
        "Earl,m,70,x\nPiotr,Male,30,x\nIvan,M,5,y\nJan,M,1,x\n"
    )
    table = load_names(path)
    assert pairs(table) == [("Ivan", "Olga"), ("Piotr", "Anna")]
    assert [pair.rank for pair in table.pairs] == [1, 2]
    assert (table.ambiguous, table.clashing, table.unpaired) == (1, 1, 1)
    assert (table.source, table.date) == ("Registry of Nowhere", "2001-01")
    assert pairs(load_names(path, top=1)) == [("Ivan", "Olga")]


def test_a_file_of_the_social_security_administration(write):
    path = write(
        "Jessica,F,46485\nAshley,F,45558\nMichael,F,278\nMichael,M,65302\nChristopher,M,52332\nAshley,M,221\n"
        "Jordan,F,4000\nJordan,M,16000\n",
        "yob1990.txt",
    )
    options = {"source": "US Social Security Administration", "date": 1990, "columns": ("name", "sex", "count")}
    table = load_names(path, **options)
    assert pairs(table) == [("Michael", "Jessica"), ("Christopher", "Ashley")]
    assert table.ambiguous == 1  # a fifth of all Jordans: a name of both
    assert pairs(load_names(path, ambiguous_share=0.3, **options))[-1] == ("Christopher", "Ashley")


def test_ranks_lead_where_there_are_no_counts(write):
    path = write("name\tgroup\trank\nB\tmale\t2\nA\tmale\t1\nC\tfemale\t1\nD\tfemale\t5\nB\tfemale\t9\n", "names.tsv")
    table = load_names(path, source="s", date="1999")
    assert pairs(table) == [("A", "C")]
    assert (table.ambiguous, table.unpaired) == (1, 1)


def test_groups_of_any_attribute_and_words_of_ones_own(write):
    path = write("religion,name,count\nc,Luke,3\nj,Moshe,2\nM,Ali,1\n")
    table = load_names(path, source="s", date=2020, attribute="religion")
    assert table.pairs[0].names == {"christian": "Luke", "jewish": "Moshe", "muslim": "Ali"}
    words = write("name,group,count\nIvan,хлопець,3\nOlga,дівчина,3\n")
    table = load_names(words, source="s", date=2020, groups={"хлопець": "male", "дівчина": "female"})
    assert pairs(table) == [("Ivan", "Olga")]


def test_names_are_off_until_asked_for_and_swapping_twice_is_the_identity(write):
    path = write(HEADER + "name,sex,count\nIvan,M,3\nOlga,F,3\n")
    text = "Ivan met Olga, and Mary met John."
    assert swap(text) == text
    gender, use = with_names(load_attribute("gender"), path)
    assert use
    assert gender.names_source == "Registry of Nowhere (2001-01)"
    once = CounterfactualSwap("t", names=path)({"t": text})["t_counterfactual"]
    assert once == "Olga met Ivan, and Mary met John."
    assert CounterfactualSwap("t", names=load_names(path))({"t": once})["t_counterfactual"] == text
    assert swap(text, names=True) == "Ivan met Olga, and James met Patricia."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mark her words, he said.", "Mark his words, she said."),
        ("Carol of the bells is her song.", "Carol of the bells is his song."),
        ("Mark said he left.", "Sandra said she left."),
        ("Carol will sing.", "Edward will sing."),
        ("They met Mark at his house.", "They met Sandra at her house."),
        ("Sandra in the office left.", "Mark in the office left."),
    ],
)
def test_a_name_that_is_a_common_word_is_read_by_what_follows(text, expected):
    assert swap(text, names=True) == expected


def test_the_table_is_part_of_the_state(write):
    first = CounterfactualSwap("t", names=write(HEADER + "name,sex,count\nIvan,M,3\nOlga,F,3\n"))
    again = pickle.loads(pickle.dumps(first))
    assert Hasher.hash(again) == Hasher.hash(first)
    other = CounterfactualSwap("t", names=write(HEADER + "name,sex,count\nIvan,M,3\nAnna,F,3\n"))
    assert (
        len({Hasher.hash(f) for f in (first, other, CounterfactualSwap("t"), CounterfactualSwap("t", names=True))}) == 4
    )
    assert first.attribute != other.attribute != load_attribute("gender")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Ann", "Bea", "Cleo", "Dan", "Ed", "Flo", "Gus", "Hal", "Ida", "Joe", "King", "Queen"]),
            st.sampled_from("MF"),
            st.integers(1, 9),
        ),
        max_size=30,
    )
)
def test_no_name_is_in_two_pairs(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("names") / "n.csv"
    path.write_text("\n".join(f"{name},{group},{count}" for name, group, count in rows), encoding="utf-8")
    try:
        table = load_names(path, source="s", date=2000, columns=("name", "sex", "count"))
    except ValueError as error:
        assert "no pair" in str(error)  # noqa: PT017
        return
    names = [name for pair in table.pairs for name in pair.names.values()]
    assert len(set(names)) == len(names)
    assert not {"King", "Queen"} & set(names)
    counts: dict[tuple[str, str], int] = {}
    for name, group, count in rows:
        counts[name, group] = counts.get((name, group), 0) + count
    for group, key in (("male", "M"), ("female", "F")):
        ranked = [counts[pair.names[group], key] for pair in table.pairs]
        assert ranked == sorted(ranked, reverse=True)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("name,sex,count\nA,M,1\nB,F,1\n", {}, "need a source and a date with a year"),
        ("name,sex,count\nA,M,1\nB,F,1\n", {"source": "s", "date": "lately"}, "need a source and a date"),
        (HEADER + "A,M,1\nB,F,1\n", {}, "the columns are 'A', 'M', '1'; expected name, group.*pass columns="),
        (HEADER + "name,sex,count\nA,M,1\nB,X,1\n", {}, r"line 5: got \['B', 'X', '1'\].*groups=\{word: group\}"),
        (HEADER + "name,sex,count\nA,M\n", {}, "line 4"),
        (HEADER + "name,sex,count\nA,M,0\n", {}, "line 4"),
        (HEADER + "name,sex,count\nA,M,1\n", {}, "no pair of names: 1 male, 0 female"),
        (HEADER + "name,sex,count\n", {"ambiguous_share": 0.7}, "ambiguous_share must be in"),
        (HEADER + "name,sex,count\n", {"top": 0}, "top must be at least 1"),
        (HEADER + "name,sex,count\nA,M,1\n", {"groups": {"M": "man"}}, "Unknown group 'man'"),
    ],
)
def test_a_bad_file_is_a_clear_error(write, content, options, message):
    with pytest.raises(ValueError, match=message):
        load_names(write(content), **options)


def test_bad_arguments_are_clear_errors(write, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        CounterfactualSwap("t", names=tmp_path / "none.csv")
    with pytest.raises(TypeError, match="names must be True, False, a path"):
        CounterfactualSwap("t", names=3)
    table = load_names(write(HEADER + "name,sex,count\nIvan,M,3\nOlga,F,3\n"))
    with pytest.raises(ValueError, match=r"The names are of groups male, female; attribute 'religion' has"):
        CounterfactualSwap("t", attribute="religion", target="jewish", names=table)
