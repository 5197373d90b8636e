// The states of a test, and the bits of its marks in the part "index". Not for how they look (parts.tsx).

import type { State } from "../schemas/report";

export type { State };

export const kStates: State[] = [
  "passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "timed_out", "not_run"];
export const kMarkBits = {
  device: 1, fallback: 2, race: 4, redirected: 8, untouched: 16, generated: 32, flaky: 64, fork_sensitive: 128,
  pseudo: 256, used_accelerator: 512};
