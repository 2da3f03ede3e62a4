/** A message before it is rendered: every template in it parsed once, every mistake found, and the choice among them. */
import { type FieldErrors, invalid } from '../errors.ts';
import type { ActionEntry } from '../inbox-actions.ts';
import { type JsonPiece, readJson } from './json.ts';
import { type CompiledLayout, hasContent, parseLayout } from './layout.ts';
import { type Block, isCheapMarkdown, parseMarkdown } from './markdown.ts';
import { type Memory, remember } from './memory.ts';
import { type LazyTemplate, lazyTemplate, parseTemplate, TemplateError } from './template.ts';
import { inlineLimits, TooHeavy } from './template-limits.ts';
import { type Part, splitSlots } from './template-slots.ts';

export interface Words {
  /** Liquid. */
  subject?: string;
  /** Markdown with Liquid; for a webhook also JSON. */
  body?: string;
}

export interface LocalizedWords extends Words {
  /** By locale (`pt-BR`) or language (`pt`). */
  locales?: Record<string, Words>;
}

export interface MessageContent extends LocalizedWords {
  body: string;
  /** The name of a layout. */
  layout?: string;
  /** A variable that the context lacks fails the message. */
  strict?: boolean;
  /** Of an in-app message, Liquid: the address of a picture, and what can be done with it. */
  avatar?: string;
  actions?: ActionEntry[];
  /** What differs on a channel, by its slug or its medium. */
  overrides?: Record<string, LocalizedWords>;
}

export interface CompiledMessage {
  layout?: string;
  strict: boolean;
  avatar?: CompiledTemplate;
  actions: CompiledAction[];
  own: Variants;
  overrides: Map<string, Variants>;
  /** What `choose` chose: all recipients of a language share it. */
  chosen: Map<string, Choice>;
}

export interface CompiledAction extends Pick<ActionEntry, 'name' | 'event' | 'acknowledge'> {
  label: CompiledTemplate;
  url?: CompiledTemplate;
}

export interface CompiledTemplate {
  /** The path of the template in the message. */
  field: string;
  template: LazyTemplate;
  readLine: (skeleton: string) => Part[];
  readMarkdown: Memory<Block[]>;
  readJson: (skeleton: string) => JsonPiece[];
}

type CompiledWords = { [field in keyof Words]?: CompiledTemplate };
interface Variants {
  words: CompiledWords;
  locales: Map<string, CompiledWords>;
}

export interface TemplateMistake {
  field: string;
  line: number;
  column: number;
  message: string;
}

/**
 * Its templates are compiled when they are needed. All of them are checked before, which throws `template.invalid`; what
 * was checked when it was stored need not be.
 */
export function compileMessage(
  content: MessageContent,
  check: CheckTemplate | 'checked' = checkTemplate,
): CompiledMessage {
  if (check !== 'checked') throwIfAny(findTemplateMistakes(content, check));
  return compile(content);
}

/** Tells what is wrong with a template; undefined: nothing. */
export type CheckTemplate = (source: string) => Omit<TemplateMistake, 'field'> | undefined;

export const checkTemplate: CheckTemplate = source => {
  try {
    parseTemplate(source);
    return undefined;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { line: error.line, column: error.column, message: error.message };
  }
};

/** All of them, and where. */
export function findTemplateMistakes(content: MessageContent, check = checkTemplate): TemplateMistake[] {
  return templatesOf(content).flatMap(({ field, source }) => {
    const mistake = check(source);
    return mistake ? [{ field, ...mistake }] : [];
  });
}

function templatesOf({
  overrides = {},
  avatar,
  actions = [],
  ...own
}: MessageContent): { field: string; source: string }[] {
  const ofWords = ({ subject, body }: Words, path: string) => [
    ...(subject === undefined ? [] : [{ field: `${path}subject`, source: subject }]),
    ...(body === undefined ? [] : [{ field: `${path}body`, source: body }]),
  ];
  const ofVariants = (words: LocalizedWords, path: string) => [
    ...ofWords(words, path),
    ...Object.entries(words.locales ?? {}).flatMap(([locale, translated]) =>
      ofWords(translated, `${path}locales/${locale}/`),
    ),
  ];
  return [
    ...ofVariants(own, ''),
    ...(avatar === undefined ? [] : [{ field: 'avatar', source: avatar }]),
    ...actions.flatMap(({ label, url }, i) => [
      { field: `actions/${i}/label`, source: label },
      ...(url === undefined ? [] : [{ field: `actions/${i}/url`, source: url }]),
    ]),
    ...Object.entries(overrides).flatMap(([name, words]) => ofVariants(words, `overrides/${name}/`)),
  ];
}

/** The blocks of a skeleton; where others wait, TooHeavy unless they are known or cheap to find. */
export function readMarkdown({ readMarkdown: read }: CompiledTemplate, skeleton: string, inline?: boolean): Block[] {
  if (inline && countLines(skeleton) > inlineLimits.lines) throw new TooHeavy();
  if (inline && read.find(skeleton) === undefined && !isCheapMarkdown(skeleton)) throw new TooHeavy(skeleton);
  return read(skeleton);
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** Checked as a message is. */
export function compileLayout(source: string, check: CheckTemplate | 'checked' = checkTemplate): CompiledLayout {
  const mistake = check === 'checked' ? undefined : checkLayoutSource(source, check);
  if (mistake) throwIfAny([{ field: 'layout', ...mistake }]);
  return parseLayout(source);
}

/** As `checkTemplate`, of what a layout must be besides. */
export function checkLayoutSource(source: string, check = checkTemplate): ReturnType<CheckTemplate> {
  return check(source) ?? (hasContent(source) ? undefined : { line: 1, column: 1, message: withoutContent });
}

const withoutContent = 'does not hold {{ content }}, where the message belongs';

export interface Choice {
  subject?: CompiledTemplate;
  body: CompiledTemplate;
  /** Of the words that were chosen: dates and the document have to agree with them. */
  locale: string;
}

interface Wanted {
  channel: string;
  medium: string;
  locale?: string | undefined;
}

const mostChosen = 500;

/** The channel's words before the medium's before the message's own, and in each the recipient's language first. */
export function choose(message: CompiledMessage, wanted: Wanted): Choice {
  const name = `${wanted.channel} ${wanted.medium} ${wanted.locale ?? ''}`;
  const known = message.chosen.get(name);
  if (known) return known;
  const choice = findChoice(message, wanted);
  if (message.chosen.size >= mostChosen) message.chosen.clear();
  message.chosen.set(name, choice);
  return choice;
}

function findChoice({ own, overrides }: CompiledMessage, { channel, medium, locale }: Wanted): Choice {
  const wanted = toLocale(locale);
  const languages = [localeKey(wanted), localeKey(wanted).split('-')[0]!];
  const candidates = [overrides.get(channel), overrides.get(medium), own].filter(variants => variants !== undefined);
  const pick = (field: keyof Words): CompiledTemplate | undefined => {
    for (const { words, locales } of candidates) {
      for (const language of languages) {
        const found = locales.get(language)?.[field];
        if (found) return found;
      }
      if (words[field]) return words[field];
    }
    return undefined;
  };
  const body = pick('body')!;
  const isTranslated = candidates.some(({ locales }) => locales.size > 0);
  const isChosen = !isTranslated || candidates.some(({ locales }) => languages.some(language => locales.has(language)));
  return { subject: pick('subject'), body, locale: isChosen ? wanted : usualLocale };
}

function compile(content: MessageContent): CompiledMessage {
  const compileTemplate = (source: string, field: string): CompiledTemplate => ({
    field,
    template: lazyTemplate(source),
    readLine: remember(splitSlots),
    readMarkdown: remember(parseMarkdown),
    readJson: remember(readJson),
  });
  const compileWords = ({ subject, body }: Words, path: string): CompiledWords => ({
    ...(subject !== undefined && { subject: compileTemplate(subject, `${path}subject`) }),
    ...(body !== undefined && { body: compileTemplate(body, `${path}body`) }),
  });
  const compileVariants = (words: LocalizedWords, path: string): Variants => ({
    words: compileWords(words, path),
    locales: new Map(
      Object.entries(words.locales ?? {}).map(([locale, translated]) => [
        localeKey(locale),
        compileWords(translated, `${path}locales/${locale}/`),
      ]),
    ),
  });
  return {
    ...(content.layout !== undefined && { layout: content.layout }),
    strict: content.strict ?? false,
    ...(content.avatar !== undefined && { avatar: compileTemplate(content.avatar, 'avatar') }),
    actions: (content.actions ?? []).map(({ name, label, url, event, acknowledge }, i) => ({
      name,
      label: compileTemplate(label, `actions/${i}/label`),
      ...(url !== undefined && { url: compileTemplate(url, `actions/${i}/url`) }),
      ...(event !== undefined && { event }),
      ...(acknowledge && { acknowledge }),
    })),
    chosen: new Map(),
    own: compileVariants(content, ''),
    overrides: new Map(
      Object.entries(content.overrides ?? {}).map(([name, words]) => [
        name,
        compileVariants(words, `overrides/${name}/`),
      ]),
    ),
  };
}

function throwIfAny(mistakes: readonly TemplateMistake[]): void {
  if (mistakes.length === 0) return;
  const fields: FieldErrors = {};
  for (const { field, line, column, message } of mistakes)
    fields[field] = [`line ${line}, column ${column}: ${message}`];
  throw invalid(fields, 'template.invalid');
}

const usualLocale = 'en';
const locales = new Map<string, string>();

/** As Unicode writes it; the usual one where it is none. */
function toLocale(text: string | undefined): string {
  if (text === undefined) return usualLocale;
  const known = locales.get(text);
  if (known !== undefined) return known;
  try {
    const locale = Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0] ?? usualLocale;
    if (locales.size > 1000) locales.clear();
    locales.set(text, locale);
    return locale;
  } catch {
    return usualLocale;
  }
}

function localeKey(locale: string): string {
  return locale.replaceAll('_', '-').toLowerCase();
}
