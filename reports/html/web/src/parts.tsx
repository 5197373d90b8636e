// Pieces that several pages use: states, links to source lines, text to copy, folded lists. Not for
// whole pages (pages/).

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Run, Summary } from "./data";
import type { State } from "./states";
import { load } from "./loader";
import { link, testLink } from "./route";
import { brief, number, safeUrl, visible, words } from "./text";

// Colours are not the only sign: each state has a letter, too.
const letters: Record<string, string> = {
  passed: "✓", failed: "F", errored: "E", skipped: "s", xfailed: "x", xpassed: "X", crashed: "C", timed_out: "T",
  not_run: "–",
};

export const StateSign = ({ state }: { state: State }) => (
  <span class={`sign ${state}`} aria-hidden="true">{letters[state]}</span>
);
export const StateWord = ({ state }: { state: State }) => (
  <span class="state"><StateSign state={state} /> {words(state)}</span>
);

// A name from outside: its own direction, control characters visible.
export const Name = ({ text, length }: { text: string; length?: number }) => (
  <bdi class="name">{length ? brief(text, length) : visible(text)}</bdi>
);

// A sentence of ours: `code` between backticks, as in Markdown.
export const Prose = ({ text }: { text: string | null | undefined }) => (
  <>{visible(text).split("`").map((piece, at) => (at % 2 ? <code key={at}>{piece}</code> : piece))}</>
);

export const TestLink = ({ id, length = 400 }: { id: string; length?: number }) => (
  <a href={testLink(id)}><Name text={id} length={length} /></a>
);

// Begins the links that lead to copies of the suite's files.
let copies = "";
export function rememberSources(summary: Summary) {
  copies = summary.run?.sources?.prefix ?? "";
}

// Where a link leads: to a forge, to this page's copy of the file, to a file beside the page.
export function sourceHref(url: string | null): string | undefined {
  if (url && copies && url.startsWith(copies)) {
    const [path, line] = url.slice(copies.length).split("#L");
    try {
      return link("source", decodeURIComponent(path ?? ""), { line });
    } catch {
      return undefined;
    }
  }
  return safeUrl(url);
}

export function Place({ url, file, line }: { url: string | null; file: string; line: number }) {
  const text = line > 0 ? `${file}:${line}` : file;
  const href = sourceHref(url);
  return href ? <a class="place" href={href} {...outside(href)}><Name text={text} length={300} /></a>
    : <span class="place"><Name text={text} length={300} /></span>;
}

// "file:line"
export function PlaceText({ place, url }: { place: string; url: string | null }) {
  const colon = place.lastIndexOf(":");
  return <Place url={url} file={place.slice(0, colon)} line={Number(place.slice(colon + 1)) || 0} />;
}

export const outside = (href: string) =>
  /^https?:/i.test(href) ? { target: "_blank", rel: "noopener noreferrer" } : {};

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      // A page from disk may have no clipboard: the selection of a hidden field always works.
      const field = document.createElement("textarea");
      field.value = text;
      field.className = "offscreen";
      document.body.append(field);
      field.select();
      setDone(document.execCommand("copy") ? "Copied" : "Not allowed");
      field.remove();
    }
    setTimeout(() => setDone(""), 1500);
  };
  return <button type="button" class="copy" onClick={copy}>{done || label}</button>;
}

export const Command = ({ text, label }: { text: string; label: string }) => (
  <div class="command">
    <div class="command-head"><span>{label}</span><Copy text={text} /></div>
    <pre tabIndex={0} aria-label={label}>{visible(text)}</pre>
  </div>
);

const kShown = 20_000;
const kTail = 25;
// Text of any length: its beginning and its end, and all of it on demand. `tail`: its last lines, where
// a traceback says what went wrong.
export function LongText({ text, label, tail = false, children }: { text: string; label: string; tail?: boolean; children?: ComponentChildren }) {
  const [all, setAll] = useState(false);
  const lines = tail ? text.trimEnd().split("\n") : [];
  const cut = !all && (text.length > kShown || lines.length > kTail);
  const shown = !cut ? text : lines.length > kTail ? `…\n${lines.slice(-kTail).join("\n").slice(-kShown)}`
    : `${text.slice(0, kShown / 2)}\n… ${number(text.length - kShown)} characters …\n${text.slice(-kShown / 2)}`;
  return (
    <div class="longtext">
      <pre tabIndex={0} aria-label={label}>{children && !cut ? children : visible(shown)}</pre>
      {cut && <button type="button" onClick={() => setAll(true)}>Show all {number(text.length)} characters</button>}
    </div>
  );
}

// A list of which the first items are shown.
export function Some<T>({ items, first = 10, what, children }:
  { items: T[]; first?: number; what: string; children: (item: T, at: number) => ComponentChildren }) {
  const [shown, setShown] = useState(first);
  return (
    <>
      {items.slice(0, shown).map(children)}
      {items.length > shown && (
        <li class="more">
          <button type="button" onClick={() => setShown(shown + Math.max(50, first))}>
            Show {number(Math.min(items.length - shown, Math.max(50, first)))} more{items.length - shown > 1 && ` ${what}`}{items.length - shown > Math.max(50, first) && ` of ${number(items.length - shown)}`}
          </button>
        </li>
      )}
    </>
  );
}

// Lengths of states in one bar.
export function Bar({ states, total }: { states: [State, number][]; total: number }) {
  const text = states.filter(([, n]) => n > 0).map(([state, n]) => `${number(n)} ${words(state)}`).join(", ");
  return (
    <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={text || "no test"}>
      <title>{text}</title>
      {bars(states, total).map(({ state, x, width }) => (
        <rect key={state} class={`fill-${state}`} x={x} y={0} width={width} height={10} />
      ))}
    </svg>
  );
}
function bars(states: [State, number][], total: number) {
  let x = 0;
  // A state with few tests is still seen.
  return states.filter(([, n]) => n > 0).map(([state, n]) => {
    const width = Math.max(3, (1000 * n) / Math.max(1, total));
    const bar = { state, x, width };
    x += width;
    return bar;
  });
}

export function Part<T>({ name, children }: { name: string; children: (value: T) => ComponentChildren }) {
  const [value, setValue] = useState<{ name: string; value?: T; error?: string }>({ name: "" });
  useEffect(() => {
    let wanted = true;
    load<T>(name).then(
      (read) => wanted && setValue({ name, value: read }),
      (error: unknown) => wanted && setValue({ name, error: String(error) }));
    return () => { wanted = false; };
  }, [name]);
  if (value.name !== name) return <p class="note" role="status">Loading…</p>;
  if (value.error) return <p class="error" role="alert">This part cannot be read: {visible(value.error)}</p>;
  return <>{children(value.value as T)}</>;
}

export const isolationWords = (run: Run) => (run.isolation === "sandbox" ? `sandbox${run.network ? " with the network" : ", without a network"}` : run.isolation);
export const deviceWords = (run: Run) => (run.simulated ? `${run.simulated} (simulated)` : run.device);
