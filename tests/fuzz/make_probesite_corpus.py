#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/probesite/: functions for tests/fuzz/fuzz_probesite.c, as compilers begin them,
and malformed ones (bad_). A byte of PROBESITE_ flags, a byte of the address, code."""
import os

DI, SI, DX, STACK, DI_OR_0 = 1, 2, 4, 8, 16
MALLOC, CALLOC, FREE = DI | STACK, DI | SI | STACK, DI | DI_OR_0
RET, TEST, ENDBR = "c3", "4885ff", "f30f1efa"
ARM64, ARET = 32, "c0035fd6"

CASES = {
    "push": (MALLOC, "4154" "55" "53" + RET),
    "endbr": (MALLOC, ENDBR + "55" + RET),
    "compare": (MALLOC, "4881ff00100000" "0f8701000000" + RET + RET),
    "store_in_red_zone": (MALLOC, "4889f8" "48894424f8" "e900010000"),
    "long_nops": (MALLOC, "6690" "0f1f00" "53" + RET),
    "nop_5": (MALLOC, "0f1f440000" "55" + RET),
    "nop_10": (MALLOC, "662e0f1f840000000000" "55" + RET),
    "free": (FREE, TEST + "7402" "55" + RET + RET),
    "free_far": (FREE, ENDBR + TEST + "0f8402000000" "55" + RET + RET),
    "free_not_zero": (FREE, TEST + "7502" "55" + RET + RET),
    "free_back": (FREE, TEST + "7400" "55" + RET),
    "spoils_stack": (MALLOC, "4883ec18" "55" + RET),
    "spoils_di": (MALLOC, "4889f7" "55" + RET),
    "spoils_half": (MALLOC, "648b38" "55" + RET),
    "spoils_dx_silently": (CALLOC | DX, "48f7e6" "55" + RET),
    "string": (CALLOC, "f3a4" "55" + RET),
    "loop": (MALLOC, "4889f8" "55" "ebfd" + RET),
    "loop_behind": (MALLOC, "4889f8" "55" "90" "ebfd"),
    "to_itself": (MALLOC, "4889f8" "55" "e8f7ffffff" + RET),
    "tail_jump": (CALLOC, "480faffe" "e9f0ffff7f"),
    "indirect": (MALLOC, "4889f8" "ff25f00f0000"),
    "call_table": (MALLOC, "53" "ff14c500104000" "5b" + RET),
    "system_call": (MALLOC, "0f05" "55" + RET),
    "vector": (MALLOC, "c5f96ec7" "62f17c48 28c0".replace(" ", "") + "55" + RET),
    "fs_counter": (MALLOC, "644883042500000000ff" "55" + RET),
    "arm64_malloc": (ARM64 | MALLOC, "fd7bbca9" "f30300aa" + ARET),
    "arm64_free": (ARM64 | FREE, "5f2403d5" "600000b4" + ARET * 3),
    "arm64_signed": (ARM64 | FREE, "3f2303d5" "fd7bbea9" "f30300aa" "20000090" "bf2303d5" + ARET),
    "arm64_loop": (ARM64 | FREE, "1f2003d5" "600000b4" "ffffff17" + ARET),
    "arm64_literal": (ARM64 | MALLOC, "40000058" + ARET),
    "arm64_exclusive": (ARM64 | FREE, "1f2003d5" "007c5fc8" "600000b4" + ARET),
    "arm64_system_call": (ARM64 | FREE, "010000d4" + ARET),
    "arm64_indirect": (ARM64 | MALLOC, "20003fd6" "20021fd6"),
    "bad_arm64_cut": (ARM64 | FREE, "fd7bbc"),
    "bad_arm64_zeros": (ARM64 | FREE, "00" * 80),
    "bad_arm64_target_wraps": (ARM64 | FREE, "00000014" "ffff7f54" "000000b5" + ARET),
    "bad_empty": (MALLOC, ""),
    "bad_prefixes": (MALLOC, "66" * 20 + "55"),
    "bad_cut_in_mid_instruction": (MALLOC, "4889f8" "55" "e80000"),
    "bad_32_bit_push": (MALLOC, "4889f8" "55" "06"),
    "bad_not_code": (FREE, "ff" * 40),
    "bad_zeros": (FREE, "00" * 80),
    "bad_prologue_without_end": (MALLOC, "4889f8" * 100 + "55" + RET),
    "bad_target_wraps": (MALLOC, "4889f8" "0f8500000080" "e9ffffff7f" + RET),
    "bad_rex_alone": (MALLOC, "48" * 15 + "55"),
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "probesite")
    os.makedirs(folder, exist_ok=True)
    for name, (keeps, code) in CASES.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes([keeps, 0xff if name.endswith("wraps") else 0]) + bytes.fromhex(code))


main()
