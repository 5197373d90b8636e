// The states of a test, and the bits of its marks in the part "index". Not for how they look (parts.tsx).

import type { State } from "../schemas/report";

export type { State };

export const kStates: State[] = [
  "passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "timed_out", "not_run"];
export const kMarkBits = {
  device: 1, fallback: 2, redirected: 4, untouched: 8, flaky: 16, fork_sensitive: 32, pseudo: 64,
  used_accelerator: 128};
