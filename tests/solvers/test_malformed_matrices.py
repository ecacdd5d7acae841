"""Sparse matrices whose arrays do not fit together are refused before compiled code reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tcpdynamics.solvers import (
    ChainError,
    MarkovChain,
    first_passage,
    sojourn,
    spectral_gap,
    stationary,
    transient,
    windowed,
)
from tcpdynamics.solvers.markov.sparse import stationary_sparse
from tcpdynamics.solvers.markov.structure import check_aperiodic, check_irreducible, check_rows

GOOD = sp.csr_array(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]]))

SOLVERS: dict[str, Callable[[Any], Any]] = {
    "stationary_sparse": stationary_sparse,
    "stationary": lambda P: stationary(MarkovChain(P)),
    "exact": lambda P: stationary(MarkovChain(P), exact=True),
    "first_passage": lambda P: first_passage(MarkovChain(P), "0", times=[1, 5]),
    "sojourn": lambda P: sojourn(MarkovChain(P), ["0"], longest=3),
    "transient": lambda P: transient(MarkovChain(P), "0", [1, 5]),
    "spectral_gap": lambda P: spectral_gap(MarkovChain(P)),
    "windowed": lambda P: windowed(MarkovChain(P), {"1": 1}, 5),
    "check_rows": check_rows,
    "check_irreducible": check_irreducible,
    "check_aperiodic": check_aperiodic,
}


def broken(part: str, value: Any, form: str = "csr") -> Any:
    """A sound matrix with one of its arrays replaced behind SciPy's back."""
    P = sp.csr_array(GOOD).asformat(form).copy()
    setattr(P, part, value)
    return P


MALFORMED: dict[str, Callable[[], Any]] = {
    "index beyond": lambda: broken("indices", np.array([0, 1, 0, 1, 10**6, 1, 2], np.int32)),
    "negative index": lambda: broken("indices", np.array([0, 1, 0, -(10**6), 2, 1, 2], np.int32)),
    "indptr beyond": lambda: broken("indptr", np.array([0, 2, 5, 10**7], np.int32)),
    "indptr falls": lambda: broken("indptr", np.array([0, 5, 2, 7], np.int32)),
    "indptr short": lambda: broken("indptr", np.array([0, 2], np.int32)),
    "indptr starts late": lambda: broken("indptr", np.array([3, 4, 5, 7], np.int32)),
    "indptr of floats": lambda: broken("indptr", np.array([0.0, 2, 5, 7])),
    "data short": lambda: broken("data", np.array([0.5])),
    "csc index beyond": lambda: broken("indices", np.array([0, 1, 0, 1, 9, 1, 2], np.int32), "csc"),
    "bsr index beyond": lambda: broken("indices", np.array([0, 1, 0, 1, 9, 1, 2], np.int32), "bsr"),
    "coo row beyond": lambda: broken("coords", (np.array([0, 9]), np.array([0, 1])), "coo"),
    "dia offsets short": lambda: broken("offsets", np.array([0], np.int32), "dia"),
    "not square": lambda: sp.csr_array(np.full((2, 3), 1 / 3)),
    "complex": lambda: GOOD.astype(complex) * 1j,
    "bool": lambda: sp.csr_array(np.eye(3)[[1, 2, 0]] > 0),
    "nan": lambda: broken("data", np.array([0.5, np.nan, 0.25, 0.5, 0.25, 0.5, 0.5])),
    "infinite": lambda: broken("data", np.array([0.5, np.inf, 0.25, 0.5, 0.25, 0.5, 0.5])),
}


@pytest.mark.parametrize("solver", [s for s in SOLVERS if not s.startswith("check_")])
@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_matrices_are_refused(solver: str, fault: str) -> None:
    with pytest.raises(ChainError) as error:
        SOLVERS[solver](MALFORMED[fault]())
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("check", [s for s in SOLVERS if s.startswith("check_")])
@pytest.mark.parametrize(
    "fault", [f for f in MALFORMED if f.split()[0] in ("index", "negative", "indptr", "csc", "coo")]
)
def test_checks_of_structure_refuse_them_too(check: str, fault: str) -> None:
    with pytest.raises(ChainError):
        SOLVERS[check](MALFORMED[fault]())


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
def test_every_format_gives_the_same(form: str, container: Any) -> None:
    expected = stationary_sparse(GOOD)
    P = container(GOOD.toarray()).asformat(form)
    assert (stationary_sparse(P) == expected).all()
    assert stationary(MarkovChain(P)).probability.values == pytest.approx(expected, rel=1e-15)
    assert first_passage(MarkovChain(P), "0").mean_time.values == pytest.approx([0, 6, 8], rel=1e-14)


def test_unusual_but_sound_matrices_are_solved() -> None:
    expected = stationary_sparse(GOOD)
    wide = GOOD.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert (stationary_sparse(wide) == expected).all()
    unsorted = sp.csr_array(
        (np.array([0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.5]), np.array([1, 0, 2, 0, 1, 2, 1]), np.array([0, 2, 5, 7])),
        shape=(3, 3),
    )
    assert stationary_sparse(unsorted) == pytest.approx(expected, rel=1e-15)
    twice = sp.csr_array(
        (np.array([0.5, 0.25, 0.25, 0.25, 0.5, 0.25, 0.5, 0.5]), np.array([0, 1, 1, 0, 1, 2, 1, 2]), [0, 3, 6, 8]),
        shape=(3, 3),
    )
    assert stationary_sparse(twice) == pytest.approx(expected, rel=1e-15)
    assert stationary(MarkovChain(twice), exact=True).probability.values.astype(float) == pytest.approx(expected)


def test_dense_matrices_of_no_numbers_are_refused() -> None:
    P = np.array([[0.5, 0.5], [0.5, 0.5]])
    for matrix in (np.ma.masked_array(P, mask=[[0, 1], [0, 0]]), P + 0.1j, P > 0, P.astype(object), P.astype(str)):
        with pytest.raises(ChainError, match=r"masked|real numbers"):
            stationary(MarkovChain(matrix))
