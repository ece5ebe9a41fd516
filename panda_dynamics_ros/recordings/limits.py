# SPDX-License-Identifier: Apache-2.0
"""The largest sizes that a recording may claim. A few bytes of a file can claim any size, and a reader pays for it.

Each is far above what recorders write; whatever exceeds one is damage or malice, and is refused by name.
"""

MEBIBYTE = 1 << 20

LARGEST_RECORD = 256 * MEBIBYTE
"""Bytes of one record of an MCAP file, packed, and of a chunk's records, unpacked. Recorders write 1 to 8 MiB."""

LARGEST_JOINT_STATE = MEBIBYTE
"""Bytes of one message that is to be decoded. With 64 joints it has about 3,000."""

LARGEST_EXPANSION = 200
"""Bytes unpacked for each byte of a file that is compressed as a whole, once `FREE_EXPANSION` is exceeded."""

FREE_EXPANSION = 64 * MEBIBYTE

LARGEST_TOPIC_COUNT = 10_000

LONGEST_LINE = 1 << 16
"""Characters in a line of a CSV file: some 4,000 columns."""

LARGEST_COLUMN = 128 * MEBIBYTE
"""Bytes of one array of a table: 40 minutes of seven joints at 1 kHz."""

LATEST_STAMP = 2.0**31
"""s: stamps of messages end there."""
