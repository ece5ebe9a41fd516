# SPDX-License-Identifier: Apache-2.0
"""Jump detection from the innovations of one Kalman filter: GLR signatures, and Bayes factors from them.

Willsky and Jones, "A generalized likelihood ratio approach to the detection and estimation of jumps in linear
systems", IEEE TAC 1976. The filter is linear: a jump delta that enters the measurement as G_k delta moves the filter's
state by X_k delta and its innovations by g_k delta, with

    g_k = G_k - H_k X_k,    X_k <- X_k + K_k g_k,    X_k+1 = F X_k.

So L = sum g' S^-1 g and v = sum g' S^-1 nu hold all that the data says about delta, and the filter runs only once. A
hypothesis of this module is a jump at one onset: of a payload's (m, m c), through its onset regressor, or of a
contact's torque on every joint, which rises through the same low-pass filters. For delta ~ N(0, P),

    log p(data | jump) / p(data | none) = 1/2 v' (L + P^-1)^-1 v - 1/2 log det(1 + P L).

The second term penalises the freedom of the hypothesis. The size of a jump is unknown, and so is the link that a
contact acts on, which loads the joints up to it: the Bayes factor is the mean over sizes and links.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.estimation.payload.kalman_filter import FilterStep, add_row
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.small_matrices import factorise, forward
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot.inertial import PARAMETERS

MOMENTS = 4
"""Parameters of a payload's jump that show at once: m and m c."""

PAYLOAD_SIZES = np.array([0.3, 1.0, 3.0])
"""kg, one sigma of a payload's jump; its CoM is `COM_STD` m from the flange at one sigma."""
COM_STD = 0.1
CONTACT_SIZES = np.array([3.0, 10.0, 30.0])
"""One sigma of a contact's torques, in standard deviations of the residual."""


@compiled
def update_signatures(
    slots, decay, Y, A, shared, gain, innovation, innovation_variance, onset_regressors, step_response, X, L, v, chi
):  # fmt: skip
    """Follow a prediction and a correction of the filter in every slot, in place.

    decay (n,): of the disturbance in the prediction. Y (n, 10), A (n, shared + own), gain (n, N), innovation and
    innovation_variance (n,): of the correction, joint after joint. onset_regressors (slots, n, 10), step_response
    (slots,): torque of unit jumps.
    """
    (n, size), count = gain.shape, step_response.shape[0]
    columns, own, first = MOMENTS + n, A.shape[1] - shared, PARAMETERS + n
    # Slots come last and are all computed, those without a hypothesis too: long rows suit the processor.
    rows, g = X.reshape(size, columns * count), scratch(columns * count)
    for i in range(n):
        for c in range(columns * count):
            rows[PARAMETERS + i, c] *= decay[i]
    for i in range(n):
        g[:] = 0.0
        add_row(-1.0, rows[PARAMETERS + i], g)
        for k in range(PARAMETERS):
            add_row(-Y[i, k], rows[k], g)
        for k in range(shared):
            add_row(-A[i, k], rows[first + k], g)
        for k in range(own):
            add_row(-A[i, shared + k], rows[first + shared + own * i + k], g)
        for slot in range(count):
            for c in range(MOMENTS):
                g[c * count + slot] += onset_regressors[slot, i, c]
            g[(MOMENTS + i) * count + slot] += step_response[slot]
        for slot in slots:
            chi[slot, 0] += innovation[i] * innovation[i] / innovation_variance[i]
            chi[slot, 1] += 1.0
            for c in range(columns):
                weighted = g[c * count + slot] / innovation_variance[i]
                v[slot, c] += weighted * innovation[i]
                for r in range(c + 1):
                    L[slot, c, r] += g[r * count + slot] * weighted
        for k in range(size):
            if gain[i, k] != 0.0:
                add_row(gain[i, k], g, rows[k])
    for slot in slots:
        for c in range(columns):
            for r in range(c):
                L[slot, r, c] = L[slot, c, r]


class GlrSignatures:
    """Signatures of jumps in numbered slots; each slot belongs to one onset.

    Attributes
    ----------
    X: (N, 4 + n, slots), effect of a unit jump on the filter's state.
    L, v: (slots, 4 + n, 4 + n) and (slots, 4 + n), information of the data on the jump.
    """

    def __init__(self, n: int, slots: int, errors: int = 0) -> None:
        columns = MOMENTS + n
        self.X = np.zeros((PARAMETERS + n + errors, columns, slots))
        self.chi = np.zeros((slots, 2))
        self.L, self.v = np.zeros((slots, columns, columns)), np.zeros((slots, columns))

    def start(self, slot: int) -> None:
        """Let `slot` stand for a jump now."""
        self.X[:, :, slot] = self.L[slot] = self.v[slot] = self.chi[slot] = 0.0

    def update(self, slots: np.ndarray, step: FilterStep, regressors: np.ndarray, step_response: np.ndarray) -> None:
        """Follow one step of the filter in the given slots."""
        update_signatures(
            slots, step.decay, step.Y, step.A, step.shared, step.gain, step.innovation, step.innovation_variance,
            regressors, step_response, self.X, self.L, self.v, self.chi,
        )  # fmt: skip


@compiled
def fits_and_penalties(L, v, variance, fits, penalties):
    """1/2 v' (L + P^-1)^-1 v and 1/2 log det(1 + P L), P = diag(variance), of the first 1, 2, .. n entries of a jump.

    One factorisation serves all: the factor of a leading block is the leading block of the factor.
    """
    n, fit, penalty = v.shape[0], 0.0, 0.0
    A, x = scratch((n, n)), scratch(n)
    for i in range(n):
        x[i] = v[i]
        for k in range(n):
            A[i, k] = L[i, k]
        A[i, i] += 1.0 / variance[i]
    factorise(A)
    forward(A, x)
    for i in range(n):
        fit += 0.5 * x[i] * x[i]
        penalty += math.log(A[i, i]) + 0.5 * math.log(variance[i])
        fits[i], penalties[i] = fit, penalty


DEGREES = 20.0


def tempered(evidence, chi):
    """Log Bayes factor where the scale of the noise is known only as from `DEGREES` innovations."""
    fit = evidence
    least, total = DEGREES + chi[1], DEGREES + chi[0]
    return 0.5 * least * math.log(max(total, least) / max(total - 2.0 * fit, least))


@compiled
def log_mean_exp(terms):
    """log of the mean of exp(terms)."""
    largest, total = terms[0], 0.0
    for term in terms:
        largest = max(largest, term)
    for term in terms:
        total += math.exp(term - largest)
    return largest + math.log(total / terms.shape[0])


@compiled
def payload_evidence(L, v, sizes, com_std, least):
    """Log Bayes factor of a payload's jump, from L (4, 4) and v (4,); 0 where it cannot reach `least`."""
    variance, terms = scratch(MOMENTS), scratch(sizes.shape[0])
    fits, penalties = scratch(MOMENTS), scratch(MOMENTS)
    for s in range(sizes.shape[0] - 1, -1, -1):  # the widest fits best: it bounds them all
        variance[0] = sizes[s] ** 2
        for k in range(1, MOMENTS):
            variance[k] = (sizes[s] * com_std) ** 2
        fits_and_penalties(L, v, variance, fits, penalties)
        if s == sizes.shape[0] - 1 and fits[-1] < least:
            return 0.0
        terms[s] = fits[-1] - penalties[-1]
    return log_mean_exp(terms)


@compiled
def contact_evidence(L, v, sizes, sigma, least):
    """Log Bayes factor of a contact, from L (n, n) and v (n,); 0 where it cannot reach `least`."""
    n, count = sigma.shape[0], sizes.shape[0]
    variance, fits, penalties, terms = scratch(n), scratch(n), scratch(n), scratch(count * n)
    for s in range(count - 1, -1, -1):
        for i in range(n):
            variance[i] = (sizes[s] * sigma[i]) ** 2
        fits_and_penalties(L, v, variance, fits, penalties)
        if s == count - 1 and fits[-1] < least:
            return 0.0
        for link in range(n):  # a contact loads the joints up to its link
            terms[s * n + link] = fits[link] - penalties[link]
    return log_mean_exp(terms)


@compiled
def log_bayes_factors(slots, L, v, payload_sizes, com_std, contact_sizes, sigma, least, payloads, contacts):
    """Evidence of a payload's jump and of a contact in every slot, into `payloads` and `contacts`."""
    for slot in slots:
        payloads[slot] = payload_evidence(
            L[slot, :MOMENTS, :MOMENTS], v[slot, :MOMENTS], payload_sizes, com_std, least
        )  # fmt: skip
        contacts[slot] = contact_evidence(L[slot, MOMENTS:, MOMENTS:], v[slot, MOMENTS:], contact_sizes, sigma, least)
