/** Renders Markdown as Slack's rich text blocks, whose runs Slack shows literally. */
import type { Json, JsonObject } from '../../json.ts';
import { joinParts, type Values } from '../template/slots.ts';
import type { Block, List } from './markdown.ts';
import { type Run, toRuns } from './runs.ts';
import { tableAsText } from './text.ts';

/** Returns one rich_text block with the title as its first line. */
export function toSlackBlocks(title: string, blocks: readonly Block[], values: Values): Json {
  const heading = title === '' ? [] : [section([{ text: `${title}\n`, style: { bold: true } }])];
  const body = blocks.flatMap((block, i) => toSlackElements(block, values, i < blocks.length - 1 ? '\n\n' : ''));
  const elements = [...heading, ...body];
  return elements.length === 0 ? [] : [{ type: 'rich_text', elements }];
}

function toSlackElements(block: Block, values: Values, end = ''): JsonObject[] {
  const line = (runs: Run[]) =>
    runs.length === 0 ? [] : [section(end === '' ? runs : [...runs, { text: end, style: {} }])];
  switch (block.type) {
    case 'paragraph':
      return line(toRuns(block.inner, values));
    case 'button':
      return line(toRuns([block.link], values, { bold: true }));
    case 'heading':
      return line(toRuns(block.inner, values, { bold: true }));
    case 'rule':
      return line([{ text: '———', style: {} }]);
    case 'code':
      return preformatted(joinParts(block.parts, values));
    case 'table':
      return preformatted(tableAsText(block, values));
    case 'quote': {
      const runs = runsOfBlocks(block.blocks, values);
      return runs.length === 0 ? [] : [{ type: 'rich_text_quote', elements: runs.map(toSlackElement) }];
    }
    case 'list':
      return toSlackLists(block, values, 0);
  }
}

/** Slack has no nested lists: an inner list follows its item, indented further. */
function toSlackLists({ start, items }: List, values: Values, indent: number): JsonObject[] {
  const lists: JsonObject[] = [];
  let elements: Json[] | undefined;
  for (const [i, { checked, blocks }] of items.entries()) {
    if (!elements) {
      elements = [];
      const offset = (start ?? 1) + i - 1;
      const style = start === undefined ? 'bullet' : 'ordered';
      lists.push({ type: 'rich_text_list', style, indent, ...(offset > 0 && start && { offset }), elements: elements });
    }
    const box = checked === undefined ? [] : [{ text: checked ? '☑ ' : '☐ ', style: {} }];
    const inner = blocks.filter(block => block.type === 'list');
    const own = blocks.filter(block => block.type !== 'list');
    elements.push(section([...box, ...runsOfBlocks(own, values)]));
    for (const list of inner) {
      for (const one of toSlackLists(list, values, Math.min(indent + 1, 8))) lists.push(one);
    }
    if (inner.length > 0) elements = undefined;
  }
  return lists;
}

function runsOfBlocks(blocks: readonly Block[], values: Values): Run[] {
  return blocks.flatMap((block, i) => [...(i > 0 ? [{ text: '\n', style: {} }] : []), ...runsOfBlock(block, values)]);
}

function runsOfBlock(block: Block, values: Values): Run[] {
  switch (block.type) {
    case 'paragraph':
      return toRuns(block.inner, values);
    case 'button':
      return toRuns([block.link], values, { bold: true });
    case 'heading':
      return toRuns(block.inner, values, { bold: true });
    case 'code':
      return [{ text: joinParts(block.parts, values), style: { code: true } }];
    case 'table':
      return [{ text: tableAsText(block, values), style: { code: true } }];
    case 'rule':
      return [{ text: '———', style: {} }];
    case 'quote':
      return runsOfBlocks(block.blocks, values);
    case 'list':
      return block.items.flatMap(({ blocks }) => [{ text: '\n• ', style: {} }, ...runsOfBlocks(blocks, values)]);
  }
}

function preformatted(text: string): JsonObject[] {
  return text === '' ? [] : [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text }] }];
}

function section(runs: Run[]): JsonObject {
  return { type: 'rich_text_section', elements: runs.map(toSlackElement) };
}

function toSlackElement({ text, style, url }: Run): JsonObject {
  const marks: JsonObject = Object.keys(style).length > 0 ? { style: { ...style } as JsonObject } : {};
  return url === undefined ? { type: 'text', text, ...marks } : { type: 'link', url, text, ...marks };
}
