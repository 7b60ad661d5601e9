"""What libraries say on the side reaches a person as one remark, or not at all."""

import logging
import subprocess
import sys
import warnings

import pytest

from gamewarden.cli.asides import asides_as_remarks
from gamewarden.errors import Remark


@pytest.fixture
def warn(capsys):
    def during(*said):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            with asides_as_remarks():
                for text, category in said:
                    warnings.warn(text, category, stacklevel=1)
        return capsys.readouterr().err

    return during


def test_a_remark_of_ours_is_one_line_without_its_place(warn):
    assert warn(("a font\nis missing \x1b[2J", Remark)) == "a font is missing \\x1b[2J\n"


def test_the_same_is_said_once(warn):
    assert warn(*[("overflow", RuntimeWarning)] * 3).count("overflow") == 1


def test_a_library_s_warning_names_the_library(warn):
    assert warn(("overflow in exp", RuntimeWarning)) == "Remark by test_asides: overflow in exp\n"


@pytest.mark.parametrize("category", [DeprecationWarning, FutureWarning, ResourceWarning])
def test_what_is_meant_for_programmers_is_not_said(warn, category):
    assert warn(("use another function", category)) == ""


def test_a_log_nobody_reads_is_said_too_but_not_the_search_for_fonts():
    script = """
import logging
from gamewarden.cli.asides import asides_as_remarks
with asides_as_remarks():
    logging.getLogger("library.part").warning("disk is %s", "slow")
    logging.getLogger("library.part").info("all is well")
    logging.getLogger("matplotlib.font_manager").warning("building the font cache")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stderr == "Remark by library: disk is slow\n"


def test_afterwards_all_is_as_before():
    shown, last = warnings.showwarning, logging.lastResort

    with asides_as_remarks():
        pass

    assert (warnings.showwarning, logging.lastResort) == (shown, last)
