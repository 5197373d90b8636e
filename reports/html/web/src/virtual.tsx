// A long list of which only the rows in view exist. Rows have one height. Not for what is in a row.

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

interface Props {
  count: number;
  height: number; // of a row, in pixels
  label: string;
  active: number; // the row that the keys move; -1: none
  onActive: (row: number) => void;
  onOpen: (row: number) => void;
  columns?: ComponentChildren; // heads of a table
  restore?: string; // lists with the same name keep their place when they come back
  reveal?: number; // the row that is in view at first
  row: (row: number) => ComponentChildren;
}

const places = new Map<string, number>();

export function VirtualList(props: Props) {
  const { count, height, restore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 20,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    initialOffset: restore ? (places.get(restore) ?? 0) : 0,
    onChange: () => redraw(undefined),
  };
  const virtual = useRef<Virtualizer<HTMLDivElement, Element> | undefined>(undefined);
  virtual.current ??= new Virtualizer<HTMLDivElement, Element>(options);
  const list = virtual.current;
  list.setOptions({ ...list.options, ...options });
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  useLayoutEffect(() => list.measure(), [list, height]);
  useEffect(() => {
    if (props.reveal !== undefined) list.scrollToIndex(props.reveal, { align: "center" });
    return () => {
      if (restore) places.set(restore, list.scrollOffset ?? 0);
    };
  }, [list, restore, props.reveal]);

  const move = (to: number) => {
    const row = Math.max(0, Math.min(count - 1, to));
    props.onActive(row);
    list.scrollToIndex(row, { align: "auto" });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? height) / height) - 1);
    const to: Record<string, number> = {
      ArrowDown: props.active + 1, j: props.active + 1, ArrowUp: props.active - 1, k: props.active - 1,
      PageDown: props.active + page, PageUp: props.active - page, Home: 0, End: count - 1,
    };
    if (event.key in to) move(to[event.key]!);
    else if (event.key === "Enter" && props.active >= 0 && event.target === scroller.current) props.onOpen(props.active);
    else return;
    event.preventDefault();
  };
  const items = list.getVirtualItems();
  const id = (row: number) => `row-${row}`;
  return (
    <div class="virtual" role="table" aria-label={props.label} aria-rowcount={count + (props.columns ? 1 : 0)}>
      {props.columns && <div role="rowgroup" class="heads"><div role="row" class="row" aria-rowindex={1}>{props.columns}</div></div>}
      <div class="scroller" ref={scroller} tabIndex={0} role="rowgroup" aria-label={`${props.label}: arrow keys move, Enter opens`} onKeyDown={keys}>
        <div class="space" role="presentation" style={{ height: `${list.getTotalSize()}px` }}>
          {items.map((item) => (
            <div key={item.key} id={id(item.index)} role="row" aria-rowindex={item.index + (props.columns ? 2 : 1)}
              class={item.index === props.active ? "row active" : "row"}
              style={{ height: `${height}px`, transform: `translateY(${item.start}px)` }}>
              {props.row(item.index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
