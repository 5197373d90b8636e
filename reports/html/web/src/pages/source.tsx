// A copy of one of the suite's files, with a link to each line.

import { useEffect, useState } from "preact/hooks";

import type { Sources, SourceTexts } from "../data";
import { load } from "../loader";
import { Name } from "../parts";
import { link } from "../route";
import { visible } from "../text";
import { VirtualList } from "../virtual";

export function SourcePage({ path, line }: { path: string; line: number }) {
  const [read, setRead] = useState<{ path: string; text?: string; why?: string }>({ path: "" });
  useEffect(() => {
    let wanted = true;
    const find = async () => {
      const sources = await load<Sources>("sources");
      if (Object.hasOwn(sources.files, path)) {
        const { files } = await load<SourceTexts>(`source-${sources.files[path]}`);
        return { path, text: files[path] ?? "" };
      }
      const leftOut = sources.left_out.find((file) => file.path === path);
      return { path, why: leftOut ? leftOut.why : "the run has no copy of it" };
    };
    find().then((found) => wanted && setRead(found), (error: unknown) => wanted && setRead({ path, why: String(error) }));
    return () => { wanted = false; };
  }, [path]);
  if (read.path !== path) return <p class="note" role="status">Loading…</p>;
  if (read.text === undefined)
    return <section><h1><Name text={path} /></h1><p>This page has no copy of the file: {visible(read.why)}.</p></section>;
  const { text } = read;
  const lines = text.split("\n");
  return (
    <section class="source">
      <h1><Name text={path} length={400} /></h1>
      <VirtualList count={lines.length} height={20} label="Source" active={line - 1} reveal={Math.max(0, line - 1)}
        onActive={(at) => history.replaceState(null, "", link("source", path, { line: String(at + 1) }))} onOpen={() => {}}
        row={(at) => (
          <>
            <div role="cell" class="lineno"><a href={link("source", path, { line: String(at + 1) })}>{at + 1}</a></div>
            <div role="cell" class="code">{visible(lines[at]!.slice(0, 2000)) || " "}</div>
          </>
        )} />
    </section>
  );
}
