// Text from outside, made fit to show: names and messages of a suite may hold anything. Not for
// layout (style.css).

// Control characters and those that change the direction of text, which hide or reorder what follows
// them, and those that cannot be seen. runner/base/text.cc has the same.
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f-\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
// Colours of a terminal.
const ansi = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

const escaped = (code: number) =>
  code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;

export function visible(text: string | null | undefined): string {
  if (!text) return "";
  return text
    .replace(ansi, "")
    .replace(invisible, (c) => (c === "\r" ? "" : escaped(c.codePointAt(0)!)));
}

// One line of at most `length` characters.
export function brief(text: string | null | undefined, length = 300): string {
  const line = visible((text ?? "").slice(0, 4 * length)).replace(/\s+/g, " ").trim();
  return line.length > length || (text ?? "").length > 4 * length ? line.slice(0, length - 1) + "…" : line;
}

// A link from the data; undefined unless it leads to the web or to a file beside the page.
export function safeUrl(url: string | null | undefined): string | undefined {
  if (!url) return undefined;
  if (/^https?:\/\//i.test(url)) return url;
  return /^[^/?#]*:/.test(url) || url.startsWith("//") ? undefined : url;
}

export const number = (n: number) => n.toLocaleString("en-US");
export const counted = (n: number, what: string, many = `${what}s`) => `${number(n)} ${n === 1 ? what : many}`;

export function duration(seconds: number): string {
  if (seconds < 0.001) return "0 ms";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(seconds < 9.995 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const value = (100 * part) / whole;
  // 99.96 % is not all.
  if (part < whole && value > 99.9) return "> 99.9 %";
  if (part > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(part === whole || part === 0 ? 0 : 1)} %`;
}

export const date = (iso: string) => iso.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");

// The words of a name such as "timed_out".
export const words = (name: string) => name.replaceAll("_", " ");
