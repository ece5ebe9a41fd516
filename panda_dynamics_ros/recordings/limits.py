# SPDX-License-Identifier: Apache-2.0
"""The largest sizes that a recording may claim. A few bytes of a file can claim any size, and a reader pays for it.

Each is far above what recorders write; whatever exceeds one is damage or malice, and is refused by name.
"""

MEBIBYTE = 1 << 20

LARGEST_RECORD = 256 * MEBIBYTE
"""Bytes of one record of an MCAP file, packed, and of a chunk's records, unpacked. Recorders write 1 to 8 MiB."""
LARGEST_JOINT_STATE = MEBIBYTE // 16  # bytes of one message that is to be decoded. With 64 joints it has about 3,000.
LARGEST_EXPANSION, FREE_EXPANSION = 200, 16 * MEBIBYTE  # bytes unpacked for each byte of a file, and in any case
LARGEST_TABLE = 1024 * MEBIBYTE
"""Bytes of a table's numbers: 100 minutes of seven joints at 1 kHz. A table is in memory as a whole."""
LARGEST_TOPIC_COUNT = 10_000  # topics of a bag, datasets and groups of an HDF5 file
LONGEST_LINE = 1 << 16  # characters in a line of a CSV file: some 4,000 columns
LATEST_STAMP = 2.0**31  # s: stamps of messages end there


def most_unpacked(packed: int) -> int:
    """Bytes to which a file of `packed` bytes may unpack."""
    return max(FREE_EXPANSION, LARGEST_EXPANSION * packed)
