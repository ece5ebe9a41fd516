# SPDX-License-Identifier: Apache-2.0
"""How well a payload or a contact explains what a filter did not expect: Bayes factors against nothing.

From the information L, v that the innovations hold on a jump delta (`jump_signatures`), for delta ~ N(0, P):

    log p(data | jump) / p(data | none) = 1/2 v' (L + P^-1)^-1 v - 1/2 log det(1 + P L).

The second term is what a hypothesis pays for its freedom. Sizes are unknown beforehand, and so is the link that
is touched, which loads the joints up to it: evidence is the mean over them.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.estimation.payload.glr_signatures import MOMENTS
from panda_dynamics_ros.kernels.small_matrices import factorise, forward
from panda_dynamics_ros.kernels.vectors import compiled

PAYLOAD_SIZES = np.array([0.3, 1.0, 3.0])
"""kg, sizes of a payload's jump at one sigma, its CoM `COM_STD` m from the flange."""
COM_STD = 0.1
CONTACT_SIZES = np.array([3.0, 10.0, 30.0])
"""Sizes of a contact at one sigma, in standard deviations of the residual."""


@compiled
def fit_and_cost(L, v, variance):
    """1/2 v' (L + P^-1)^-1 v and 1/2 log det(1 + P L), P = diag(variance)."""
    A, x, fit, cost = L.copy(), v.copy(), 0.0, 0.0
    for i in range(v.shape[0]):
        A[i, i] += 1.0 / variance[i]
    factorise(A)
    forward(A, x)
    for i in range(v.shape[0]):
        fit += 0.5 * x[i] * x[i]
        cost += math.log(A[i, i]) + 0.5 * math.log(variance[i])
    return fit, cost


@compiled
def log_mean_exp(terms):
    """log of the mean of exp(terms)."""
    largest = np.max(terms)
    return largest + math.log(np.mean(np.exp(terms - largest)))


@compiled
def payload_evidence(L, v, sizes, com_std, least):
    """Evidence of a payload's jump, from L (4, 4) and v (4,); 0 where it cannot reach `least`."""
    variance, terms = np.empty(MOMENTS), np.empty(sizes.shape[0])
    for s in range(sizes.shape[0] - 1, -1, -1):  # the widest fits best: it bounds them all
        variance[0], variance[1:] = sizes[s] ** 2, (sizes[s] * com_std) ** 2
        fit, cost = fit_and_cost(L, v, variance)
        if s == sizes.shape[0] - 1 and fit < least:
            return 0.0
        terms[s] = fit - cost
    return log_mean_exp(terms)


@compiled
def contact_evidence(L, v, sizes, sigma, least):
    """Evidence of a contact, from L (n, n) and v (n,); 0 where it cannot reach `least`."""
    n, count = sigma.shape[0], sizes.shape[0]
    terms = np.empty((count, n))
    for s in range(count - 1, -1, -1):
        for link in range(n, 0, -1):
            fit, cost = fit_and_cost(L[:link, :link], v[:link], (sizes[s] * sigma[:link]) ** 2)
            if s == count - 1 and link == n and fit < least:
                return 0.0
            terms[s, link - 1] = fit - cost
    return log_mean_exp(terms.ravel())


@compiled
def weigh(slots, L, v, payload_sizes, com_std, contact_sizes, sigma, least, payloads, contacts):
    """Evidence of a payload's jump and of a contact for every slot, into `payloads` and `contacts`."""
    for slot in slots:
        payloads[slot] = payload_evidence(
            L[slot, :MOMENTS, :MOMENTS], v[slot, :MOMENTS], payload_sizes, com_std, least
        )  # fmt: skip
        contacts[slot] = contact_evidence(L[slot, MOMENTS:, MOMENTS:], v[slot, MOMENTS:], contact_sizes, sigma, least)
