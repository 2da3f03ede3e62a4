/** Compiles messages: parses each template once, reports all mistakes, and chooses the templates for a recipient. */

import { type FieldErrors, invalid } from '../errors.ts';
import type { AttachmentEntry } from '../message/attachments.ts';
import type { ActionEntry } from '../message/inbox-actions.ts';
import { type JsonPiece, readJson } from './json.ts';
import { type CompiledLayout, hasContent, parseLayout } from './layout.ts';
import { type Block, isCheapMarkdown, parseMarkdown } from './markdown/markdown.ts';
import { cacheBySkeleton, type SkeletonCache } from './skeleton-cache.ts';
import { InlineLimitError, inlineLimits } from './template/limits.ts';
import { type Part, splitSlots } from './template/slots.ts';
import { type LazyTemplate, lazyTemplate, parseTemplate, TemplateError } from './template/template.ts';

export interface MessageText {
  /** Liquid. */
  subject?: string;
  /** Markdown with Liquid; for a webhook also JSON. */
  body?: string;
}

export interface LocalizedText extends MessageText {
  /** Translations by locale (`pt-BR`) or language (`pt`). */
  locales?: Record<string, MessageText>;
}

export interface MessageContent extends LocalizedText {
  body: string;
  /** The name of a layout. */
  layout?: string;
  /** Whether a variable that the context lacks fails the message. */
  strict?: boolean;
  /** The URL of an in-app message's picture, Liquid. */
  avatar?: string;
  /** The buttons of an in-app message. */
  actions?: ActionEntry[];
  /** Files to send with the message. */
  attachments?: AttachmentEntry[];
  /** Different texts for a channel, by its slug or its medium. */
  overrides?: Record<string, LocalizedText>;
}

export interface CompiledMessage {
  layout?: string;
  strict: boolean;
  avatar?: CompiledTemplate;
  actions: CompiledAction[];
  attachments: CompiledAttachment[];
  own: Variants;
  overrides: Map<string, Variants>;
  /** Results of `choose`, shared by all recipients of a language. */
  choices: Map<string, TemplateChoice>;
}

export interface CompiledAction extends Pick<ActionEntry, 'name' | 'event' | 'acknowledge'> {
  label: CompiledTemplate;
  url?: CompiledTemplate;
}

export interface CompiledAttachment extends Pick<AttachmentEntry, 'content_id'> {
  url: CompiledTemplate;
  name?: CompiledTemplate;
}

export interface CompiledTemplate {
  /** The path of the template in the message. */
  field: string;
  template: LazyTemplate;
  readLine: (skeleton: string) => Part[];
  readMarkdown: SkeletonCache<Block[]>;
  readJson: (skeleton: string) => JsonPiece[];
}

type CompiledText = { [field in keyof MessageText]?: CompiledTemplate };
interface Variants {
  text: CompiledText;
  locales: Map<string, CompiledText>;
}

export interface TemplateMistake {
  field: string;
  line: number;
  column: number;
  message: string;
}

/**
 * Checks all templates, which throws `template.invalid`, and compiles them when they are first used. Pass 'checked' for
 * content that was checked when it was stored.
 */
export function compileMessage(
  content: MessageContent,
  check: CheckTemplate | 'checked' = checkTemplate,
): CompiledMessage {
  if (check !== 'checked') throwIfAny(findTemplateMistakes(content, check));
  return compile(content);
}

/** Returns what is wrong with a template, or undefined if nothing is. */
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

/** Returns the mistakes of all templates of a message with their positions. */
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
  attachments = [],
  ...own
}: MessageContent): { field: string; source: string }[] {
  const ofText = ({ subject, body }: MessageText, path: string) => [
    ...(subject === undefined ? [] : [{ field: `${path}subject`, source: subject }]),
    ...(body === undefined ? [] : [{ field: `${path}body`, source: body }]),
  ];
  const ofVariants = (text: LocalizedText, path: string) => [
    ...ofText(text, path),
    ...Object.entries(text.locales ?? {}).flatMap(([locale, translated]) =>
      ofText(translated, `${path}locales/${locale}/`),
    ),
  ];
  return [
    ...ofVariants(own, ''),
    ...(avatar === undefined ? [] : [{ field: 'avatar', source: avatar }]),
    ...actions.flatMap(({ label, url }, i) => [
      { field: `actions/${i}/label`, source: label },
      ...(url === undefined ? [] : [{ field: `actions/${i}/url`, source: url }]),
    ]),
    ...attachments.flatMap(({ url, name }, i) => [
      { field: `attachments/${i}/url`, source: url },
      ...(name === undefined ? [] : [{ field: `attachments/${i}/name`, source: name }]),
    ]),
    ...Object.entries(overrides).flatMap(([name, text]) => ofVariants(text, `overrides/${name}/`)),
  ];
}

/** Returns the blocks of a skeleton. Inline, throws InlineLimitError unless they are cached or cheap to parse. */
export function readMarkdown({ readMarkdown: read }: CompiledTemplate, skeleton: string, inline?: boolean): Block[] {
  if (inline && countLines(skeleton) > inlineLimits.lines) throw new InlineLimitError();
  if (inline && read.get(skeleton) === undefined && !isCheapMarkdown(skeleton)) throw new InlineLimitError(skeleton);
  return read(skeleton);
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** Checks and compiles a layout, as `compileMessage` does with a message. */
export function compileLayout(source: string, check: CheckTemplate | 'checked' = checkTemplate): CompiledLayout {
  const mistake = check === 'checked' ? undefined : checkLayoutSource(source, check);
  if (mistake) throwIfAny([{ field: 'layout', ...mistake }]);
  return parseLayout(source);
}

/** Like `checkTemplate`; also requires that the layout contains `{{ content }}`. */
export function checkLayoutSource(source: string, check = checkTemplate): ReturnType<CheckTemplate> {
  return check(source) ?? (hasContent(source) ? undefined : { line: 1, column: 1, message: missingContent });
}

const missingContent = 'must contain {{ content }}, where the message is inserted';

export interface TemplateChoice {
  subject?: CompiledTemplate;
  body: CompiledTemplate;
  /** The locale of the chosen templates: dates and the document's language must agree with them. */
  locale: string;
}

interface TemplateSelector {
  channel: string;
  medium: string;
  locale?: string | undefined;
}

const maxChoices = 500;

/**
 * Chooses the templates for a recipient: overrides of the channel first, then of the medium, then the message's own; in
 * each of them a translation into the recipient's language first.
 */
export function choose(message: CompiledMessage, selector: TemplateSelector): TemplateChoice {
  const name = `${selector.channel} ${selector.medium} ${selector.locale ?? ''}`;
  const cached = message.choices.get(name);
  if (cached) return cached;
  const choice = selectTemplates(message, selector);
  if (message.choices.size >= maxChoices) message.choices.clear();
  message.choices.set(name, choice);
  return choice;
}

function selectTemplates(
  { own, overrides }: CompiledMessage,
  { channel, medium, locale }: TemplateSelector,
): TemplateChoice {
  const requested = toLocale(locale);
  const languages = [localeKey(requested), localeKey(requested).split('-')[0]!];
  const candidates = [overrides.get(channel), overrides.get(medium), own].filter(variants => variants !== undefined);
  const pick = (field: keyof MessageText): CompiledTemplate | undefined => {
    for (const { text, locales } of candidates) {
      for (const language of languages) {
        const found = locales.get(language)?.[field];
        if (found) return found;
      }
      if (text[field]) return text[field];
    }
    return undefined;
  };
  const body = pick('body')!;
  const isTranslated = candidates.some(({ locales }) => locales.size > 0);
  const hasLocale =
    !isTranslated || candidates.some(({ locales }) => languages.some(language => locales.has(language)));
  return { subject: pick('subject'), body, locale: hasLocale ? requested : defaultLocale };
}

function compile(content: MessageContent): CompiledMessage {
  const compileTemplate = (source: string, field: string): CompiledTemplate => ({
    field,
    template: lazyTemplate(source),
    readLine: cacheBySkeleton(splitSlots),
    readMarkdown: cacheBySkeleton(parseMarkdown),
    readJson: cacheBySkeleton(readJson),
  });
  const compileText = ({ subject, body }: MessageText, path: string): CompiledText => ({
    ...(subject !== undefined && { subject: compileTemplate(subject, `${path}subject`) }),
    ...(body !== undefined && { body: compileTemplate(body, `${path}body`) }),
  });
  const compileVariants = (text: LocalizedText, path: string): Variants => ({
    text: compileText(text, path),
    locales: new Map(
      Object.entries(text.locales ?? {}).map(([locale, translated]) => [
        localeKey(locale),
        compileText(translated, `${path}locales/${locale}/`),
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
    attachments: (content.attachments ?? []).map(({ url, name, content_id }, i) => ({
      url: compileTemplate(url, `attachments/${i}/url`),
      ...(name !== undefined && { name: compileTemplate(name, `attachments/${i}/name`) }),
      ...(content_id !== undefined && { content_id }),
    })),
    choices: new Map(),
    own: compileVariants(content, ''),
    overrides: new Map(
      Object.entries(content.overrides ?? {}).map(([name, text]) => [
        name,
        compileVariants(text, `overrides/${name}/`),
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

const defaultLocale = 'en';
const locales = new Map<string, string>();

/** Returns the canonical form of a locale, or the default locale if it is invalid. */
function toLocale(text: string | undefined): string {
  if (text === undefined) return defaultLocale;
  const cached = locales.get(text);
  if (cached !== undefined) return cached;
  try {
    const locale = Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0] ?? defaultLocale;
    if (locales.size > 1000) locales.clear();
    locales.set(text, locale);
    return locale;
  } catch {
    return defaultLocale;
  }
}

function localeKey(locale: string): string {
  return locale.replaceAll('_', '-').toLowerCase();
}
