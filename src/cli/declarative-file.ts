/**
 * Reads the files of `apply` and `plan` as one document and keeps the position of each part, so that errors are reported with
 * file, line and column.
 */
import { readFile, stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type Document as YamlDocument,
} from 'yaml';
import { AppError, type FieldErrors } from '../core/errors.ts';
import { isObject, toNfc } from '../core/json.ts';

interface Files {
  document: { organizations: unknown[] };
  /** `shop.yaml:12:9 organizations/0/channels/1/type: …`, one line per error, in the order of the files. */
  describe(errors: FieldErrors): string[];
}

interface File {
  name: string;
  yaml: YamlDocument.Parsed;
  lines: LineCounter;
  /** The range of this file's organizations within the whole document. */
  first: number;
  count: number;
}

const maxErrors = 20;
/** Limits nested aliases, which could expand exponentially. */
const maxAliases = 1_000;

/** Throws `file.invalid` with one line per error. `-` is standard input. */
export async function readFiles(names: string[], env: Record<string, string | undefined>): Promise<Files> {
  const files: File[] = [];
  const organizations: unknown[] = [];
  const failures: string[] = [];
  for (const name of names) {
    const lines = new LineCounter();
    // The library's check for unique keys is quadratic: 50,000 keys took more than 20 s.
    const yaml = parseDocument(await readText(name), { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const shown = name === '-' ? 'stdin' : name;
    const file: File = { name: shown, yaml, lines, first: organizations.length, count: 0 };
    files.push(file);
    // Errors that follow a stack overflow add no information.
    const overflow = yaml.errors.filter(({ message }) => message.startsWith(overflowed)).slice(0, 1);
    const wrong = [overflow, yaml.errors, findRepeatedKeys(yaml)].find(all => all.length > 0) ?? [];
    for (const { pos, message, code } of wrong) {
      const { line, col } = lines.linePos(pos[0]);
      failures.push(`${shown}:${line}:${col} ${explain(code, message)}`);
    }
    if (wrong.length > 0) continue;
    const errors: FieldErrors = {};
    const content = readContent(file, errors);
    if (content) for (const organization of replaceVariables(content, env, errors)) organizations.push(organization);
    file.count = organizations.length - file.first;
    for (const line of locate(file, Object.entries(errors))) failures.push(line);
  }
  if (failures.length > 0) throw invalidFiles(failures);
  return {
    document: { organizations },
    describe: errors => files.flatMap(file => locate(file, errorsOf(file, errors, files))),
  };
}

/** Each line is a separate error. */
export function invalidFiles(lines: string[]): AppError {
  const shown = lines.slice(0, maxErrors);
  if (lines.length > maxErrors) shown.push(`… and ${lines.length - maxErrors} more`);
  return new AppError('file.invalid', `nothing was changed because of errors:\n${shown.join('\n')}`);
}

interface YamlError {
  code: string;
  message: string;
  pos: [start: number, end: number];
}

function findRepeatedKeys(yaml: YamlDocument.Parsed): YamlError[] {
  const found: YamlError[] = [];
  visit(yaml, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        // Merge keys may be repeated.
        if (seen.has(name) && name !== '<<') {
          const at = offsetOf(key) ?? 0;
          found.push({ code: 'DUPLICATE_KEY', message: 'Map keys must be unique', pos: [at, at] });
        }
        seen.add(name);
      }
    },
  });
  return found;
}

const overflowed = 'Maximum call stack';

/** Rewords errors of the library. */
function explain(code: string, message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'contains more than one document: put each into its own file';
  return message.startsWith(overflowed) ? tooDeep : message;
}

const tooDeep = 'is nested too deeply';
/** A parsed document takes up to 400 times the memory of its text. */
const maxFileBytes = 32 * 1024 * 1024;

/** Reads a file of limited size; `-` is standard input. */
export async function readText(name: string): Promise<string> {
  if (name === '-') return text(process.stdin);
  try {
    if ((await stat(name)).size > maxFileBytes) {
      throw new AppError(
        'file.invalid',
        `${name} is larger than ${maxFileBytes / 1024 ** 2} MiB: split it into several files`,
      );
    }
    return await readFile(name, 'utf8');
  } catch (error) {
    if (error instanceof AppError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'file not found' : code === 'EISDIR' ? 'is a directory' : code;
    throw new AppError('file.invalid', `${name} cannot be read: ${reason}`);
  }
}

/** Returns the list of organizations, if the file has one. Its content is validated later. */
function readContent({ yaml }: File, errors: FieldErrors): unknown[] | undefined {
  let content: unknown;
  try {
    content = yaml.toJS({ maxAliasCount: maxAliases });
    if (containsItself(content)) throw new Error('contains an alias of itself');
  } catch (error) {
    const { message } = error as Error;
    errors.body = [message.startsWith('Excessive alias count') ? tooManyAliases : explain('', message)];
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

const tooManyAliases = `uses aliases more than ${maxAliases} times, nested ones included: write the content out`;

function containsItself(value: unknown, above = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || done.has(value)) return false;
  if (above.has(value)) return true;
  above.add(value);
  const found = Object.values(value).some(item => containsItself(item, above, done));
  above.delete(value);
  done.add(value);
  return found;
}

/** Settings of the service that contain secrets. A file from someone else must not send them to a server of its choice. */
const ownSettings = /^(BELFRY_.*|DATABASE_URL|METRICS_TOKEN|OIDC_CLIENT_SECRET|OTEL_.*)$/;

/** The parts of a file that may contain secrets; what is not secret belongs in the file. */
const secretParts = [
  ['*', 'channels', '*', 'providers'],
  ['*', 'webhooks'],
  ['*', 'projects', '*', 'channels', '*', 'providers'],
  ['*', 'projects', '*', 'applications', '*', 'sources'],
  ['*', 'projects', '*', 'applications', '*', 'heartbeats'],
  ['*', 'projects', '*', 'applications', '*', 'watches'],
];

/** Replaces `${env:NAME}` in those parts. */
function replaceVariables(organizations: unknown[], env: Record<string, string | undefined>, errors: FieldErrors) {
  const replace = (value: unknown, at: string): unknown => {
    if (typeof value === 'string') {
      return value.replace(/\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
        if (ownSettings.test(name)) errors[at] = [`${name} is a setting of Belfry itself and cannot be used in a file`];
        else if (env[name] === undefined) errors[at] = [`the environment variable ${name} is not set`];
        return env[name] ?? '';
      });
    }
    return mapValues(value, at, replace);
  };
  return secretParts.reduce<unknown>(
    (value, part) => mapPart(value, 'organizations', part, replace),
    organizations,
  ) as unknown[];
}

type Mapping = (value: unknown, at: string) => unknown;

/** Maps the values at a path, of which `*` are all items of a list. */
function mapPart(value: unknown, at: string, [field, ...rest]: string[], map: Mapping): unknown {
  if (field === undefined) return map(value, at);
  if (field === '*') return mapValues(value, at, (item, path) => mapPart(item, path, rest, map));
  if (!isObject(value) || !Object.hasOwn(value, field)) return value;
  return { ...value, [field]: mapPart(value[field], `${at}/${field}`, rest, map) };
}

function mapValues(value: unknown, at: string, map: Mapping): unknown {
  if (Array.isArray(value)) return value.map((item, i) => map(item, `${at}/${i}`));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, map(item, `${at}/${key}`)]));
}

/** Returns the errors of this file, with organizations numbered as in the file. */
function errorsOf({ first, count }: File, errors: FieldErrors, files: File[]): [string, string[]][] {
  return Object.entries(errors).flatMap(([field, messages]): [string, string[]][] => {
    const [, index, rest = ''] = /^organizations\/(\d+)(\/.*)?$/s.exec(field) ?? [];
    if (index === undefined) return files[0]?.first === first ? [[field, messages]] : [];
    const mine = Number(index) - first;
    const own = (text: string) =>
      text.replace(/organizations\/(\d+)/, (_, i: string) => localPath(Number(i), files, first));
    return mine < 0 || mine >= count ? [] : [[`organizations/${mine}${rest}`, messages.map(own)]];
  });
}

/** Names an organization by its number in its file, and by the file when it is another one. */
function localPath(index: number, files: File[], first: number): string {
  const file = files.find(candidate => index >= candidate.first && index < candidate.first + candidate.count);
  if (!file) return `organizations/${index}`;
  return `${file.first === first ? '' : `${file.name} `}organizations/${index - file.first}`;
}

/** Errors whose positions are looked up. Each lookup walks along its siblings: 30,000 took more than 30 s. */
const maxLocated = 500;

function locate(file: File, errors: [field: string, messages: string[]][]): string[] {
  const found = errors
    .slice(0, maxLocated)
    .map(([field, messages]) => ({ field, messages, at: positionOf(file, field) }));
  found.sort((a, b) => a.at.line - b.at.line || a.at.col - b.at.col);
  return found.flatMap(({ field, messages, at }) =>
    messages.map(message => `${file.name}:${at.line}:${at.col} ${field}: ${message}`),
  );
}

/** Returns the position of the field or, if it is missing, of the closest node above it. */
function positionOf({ yaml, lines }: File, field: string) {
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

/** Compares the pointer with each key instead of splitting it, because keys may contain slashes. */
function findInMap(items: { key: unknown; value: unknown }[], pointer: string): FoundNode | undefined {
  for (const { key, value } of items) {
    const name = isScalar(key) ? toNfc(String(key.value)) : undefined;
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
