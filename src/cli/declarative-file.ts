/**
 * The files that `apply` and `plan` are given, read as one document that remembers where each part of it stands, so
 * that a mistake is told by file, line and column.
 */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Document as YamlDocument,
} from 'yaml';
import { AppError, type FieldErrors } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

export interface Files {
  document: { organizations: unknown[] };
  /** `shop.yaml:12:9 organizations/0/channels/1/type: …`, one line for each mistake, in the order of the files. */
  describe(errors: FieldErrors): string[];
}

interface File {
  name: string;
  yaml: YamlDocument.Parsed;
  lines: LineCounter;
  /** Which organizations of the whole document are this file's. */
  first: number;
  count: number;
}

interface Position {
  line: number;
  col: number;
}

const mostMistakes = 20;
/** An alias may stand for a long list, but not for one that grows with every use of it. */
const mostAliases = 1_000;

/** Throws `file.invalid` with a line for each mistake. `-` is standard input. */
export async function readFiles(names: string[], env: Record<string, string | undefined>): Promise<Files> {
  const files: File[] = [];
  const organizations: unknown[] = [];
  const mistakes: string[] = [];
  for (const name of names) {
    const lines = new LineCounter();
    const yaml = parseDocument(await readText(name), { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
    const shown = name === '-' ? 'stdin' : name;
    const file: File = { name: shown, yaml, lines, first: organizations.length, count: 0 };
    files.push(file);
    for (const { pos, message } of yaml.errors) {
      const { line, col } = lines.linePos(pos[0]);
      mistakes.push(`${shown}:${line}:${col} ${message}`);
    }
    if (yaml.errors.length > 0) continue;
    const errors: FieldErrors = {};
    const content = readContent(file, errors);
    if (content) for (const organization of replaceVariables(content, env, errors)) organizations.push(organization);
    file.count = organizations.length - file.first;
    for (const mistake of locate(file, Object.entries(errors))) mistakes.push(mistake);
  }
  if (mistakes.length > 0) throw mistakesIn(mistakes);
  return {
    document: { organizations },
    describe: errors => files.flatMap(file => locate(file, errorsOf(file, errors, files))),
  };
}

/** Every line is a mistake of its own: all of them are shown. */
export function mistakesIn(lines: string[]): AppError {
  const shown = lines.slice(0, mostMistakes);
  if (lines.length > mostMistakes) shown.push(`… and ${lines.length - mostMistakes} more`);
  return new AppError('file.invalid', `nothing was changed, as there are mistakes:\n${shown.join('\n')}`);
}

async function readText(name: string): Promise<string> {
  if (name === '-') return text(process.stdin);
  try {
    return await readFile(name, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'is a directory' : code;
    throw new AppError('file.invalid', `${name} cannot be read: ${reason}`);
  }
}

/** The list of organizations, when the file has one; everything below it is judged later. */
function readContent({ yaml }: File, errors: FieldErrors): unknown[] | undefined {
  let content: unknown;
  try {
    content = yaml.toJS({ maxAliasCount: mostAliases });
  } catch (error) {
    errors.body = [(error as Error).message];
    return undefined;
  }
  if (!isObject(content)) {
    errors.body = ['must be an object with the field organizations'];
    return undefined;
  }
  for (const field of Object.keys(content)) {
    if (field !== 'organizations') errors[field] = ['is not a known field (known: organizations)'];
  }
  if (Array.isArray(content.organizations)) return content.organizations;
  errors.organizations = [content.organizations === undefined ? 'is required' : 'must be an array'];
  return undefined;
}

/** `${env:NAME}` in the fields of providers and webhooks, and nowhere else: what is not secret belongs in the file. */
function replaceVariables(organizations: unknown[], env: Record<string, string | undefined>, errors: FieldErrors) {
  const replace = (value: unknown, at: string): unknown => {
    if (typeof value === 'string') {
      return value.replace(/\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
        if (env[name] === undefined) errors[at] = [`the environment variable ${name} is not set`];
        return env[name] ?? '';
      });
    }
    return mapValues(value, at, replace);
  };
  const inChannels = (value: unknown, at: string) =>
    mapField(value, at, 'channels', (channels, place) =>
      mapValues(channels, place, (channel, here) => mapField(channel, here, 'providers', replace)),
    );
  return organizations.map((organization, i) => {
    const at = `organizations/${i}`;
    const own = mapField(inChannels(organization, at), at, 'webhooks', replace);
    return mapField(own, at, 'projects', (projects, place) => mapValues(projects, place, inChannels));
  });
}

type Mapping = (value: unknown, at: string) => unknown;

function mapField(value: unknown, at: string, field: string, map: Mapping): unknown {
  if (!isObject(value) || !Object.hasOwn(value, field)) return value;
  return { ...value, [field]: map(value[field], `${at}/${field}`) };
}

function mapValues(value: unknown, at: string, map: Mapping): unknown {
  if (Array.isArray(value)) return value.map((item, i) => map(item, `${at}/${i}`));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, map(item, `${at}/${key}`)]));
}

/** Those of the errors that are about this file, told by its own numbering. */
function errorsOf({ first, count }: File, errors: FieldErrors, files: File[]): [string, string[]][] {
  return Object.entries(errors).flatMap(([field, messages]): [string, string[]][] => {
    const [, index, rest = ''] = /^organizations\/(\d+)(\/.*)?$/s.exec(field) ?? [];
    if (index === undefined) return files[0]?.first === first ? [[field, messages]] : [];
    const mine = Number(index) - first;
    const own = (text: string) =>
      text.replace(/organizations\/(\d+)/, (_, i: string) => numbering(Number(i), files, first));
    return mine < 0 || mine >= count ? [] : [[`organizations/${mine}${rest}`, messages.map(own)]];
  });
}

/** A mistake may point at another file. */
function numbering(index: number, files: File[], first: number): string {
  const file = files.find(candidate => index >= candidate.first && index < candidate.first + candidate.count);
  if (!file) return `organizations/${index}`;
  return `${file.first === first ? '' : `${file.name} `}organizations/${index - file.first}`;
}

function locate(file: File, errors: [field: string, messages: string[]][]): string[] {
  const found = errors.map(([field, messages]) => ({ field, messages, at: positionOf(file, field) }));
  found.sort((a, b) => a.at.line - b.at.line || a.at.col - b.at.col);
  return found.flatMap(({ field, messages, at }) =>
    messages.map(message => `${file.name}:${at.line}:${at.col} ${field}: ${message}`),
  );
}

/** Where the field stands; where it should stand, if it is not there. */
function positionOf({ yaml, lines }: File, field: string): Position {
  let node: unknown = yaml.contents;
  let offset = offsetOf(node) ?? 0;
  let rest = field;
  while (rest !== '') {
    if (isAlias(node)) node = node.resolve(yaml);
    const next = isMap(node) ? findInMap(node.items, rest) : isSeq(node) ? findInSeq(node.items, rest) : undefined;
    if (!next) break;
    offset = next.offset ?? offset;
    node = next.value;
    rest = next.rest;
  }
  return lines.linePos(offset);
}

interface FoundNode {
  value: unknown;
  offset: number | undefined;
  rest: string;
}

/** A key may hold a slash itself, so the keys are tried, not the pointer cut. */
function findInMap(items: { key: unknown; value: unknown }[], pointer: string): FoundNode | undefined {
  for (const { key, value } of items) {
    const name = isScalar(key) ? String(key.value).normalize('NFC') : undefined;
    if (name === undefined || (pointer !== name && !pointer.startsWith(`${name}/`))) continue;
    return { value, offset: offsetOf(key), rest: pointer.slice(name.length + 1) };
  }
  return undefined;
}

function findInSeq(items: unknown[], pointer: string): FoundNode | undefined {
  const [, index = '', rest = ''] = /^(\d+)(?:\/(.*))?$/s.exec(pointer) ?? [];
  if (index === '' || Number(index) >= items.length) return undefined;
  const value = items[Number(index)];
  return { value, offset: offsetOf(value), rest };
}

function offsetOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
