import numpy as np
import pytest

from calcli.core.calibrators.fit.preconditioning import by_blocks, by_line
from calcli.core.calibrators.fit.softmaxloss import Coordinates
from calcli.core.calibrators.fit.training import prepare

RNG = np.random.default_rng(3)
CLASSES = 5


def test_blocks_are_solved_for():
    roots = RNG.normal(size=(CLASSES, 3, 4))
    blocks = roots @ roots.transpose(0, 2, 1)
    g = RNG.normal(size=(CLASSES, 3))
    expected = np.linalg.solve(blocks, g[:, :, None])[:, :, 0]
    np.testing.assert_allclose(by_blocks(blocks)(g), expected, rtol=1e-8)
    np.testing.assert_allclose(by_blocks(blocks)(g.ravel()), expected.ravel(), rtol=1e-8)


@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_lines_are_solved_for(strength):
    rows = prepare(
        RNG.normal(size=(20, CLASSES)), np.arange(20) % CLASSES, None, normalize=False, keep_zeros=True
    )
    coordinates, _ = Coordinates.of(rows, axis=1)
    moments = RNG.uniform(0.5, 1, (CLASSES, CLASSES + 1))
    cross = RNG.uniform(-0.4, 0.4, CLASSES)
    penalty = strength * RNG.uniform(size=moments.shape)
    outward = np.array([coordinates.outward(unit) for unit in np.eye(penalty.size)]).T
    whole = outward.T @ np.diag(penalty.ravel()) @ outward
    lines = np.arange(penalty.size).reshape(penalty.shape)
    hessian = np.array([whole[np.ix_(line, line)] for line in lines])
    for k, block in enumerate(hessian):
        block += np.diag(moments[k])
        block[k, -1] += cross[k]
        block[-1, k] += cross[k]
    g = RNG.normal(size=moments.shape)
    expected = np.linalg.solve(hessian, g[:, :, None])[:, :, 0]
    shift = np.append(-coordinates.mean / coordinates.scale, 1.0)
    solve = by_line(moments, cross, penalty, coordinates.scale, shift)
    np.testing.assert_allclose(solve(g), expected, rtol=1e-9)
