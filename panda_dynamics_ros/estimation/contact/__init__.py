# SPDX-License-Identifier: Apache-2.0
"""Contacts: when something touches the arm, on which link, and with what wrench."""
