/**
 * One message, written for every medium. Rendering is pure: the same message and the same variables give the same
 * content, now and whenever somebody asks what was sent.
 *
 * Liquid runs for each recipient; its result without the values (template-slots.ts) is the same for most of them, so
 * Markdown is parsed once and remembered, and a rendering is a walk over a finished tree.
 * Measured with a short message (subject, greeting, three values, a link), renderings for each second of one core, on a
 * machine with other work: email in the usual layout 11–20k, Slack 15–25k, Teams 21–35k, SMS 22–45k. Parsing the
 * Markdown each time would take another 50 µs: about as long as all the rest.
 */
import { AppError } from '../errors.ts';
import { requireWebAddress } from '../inbox-actions.ts';
import type { Json } from '../json.ts';
import { countSegments } from '../sms.ts';
import { type CompiledMessage, type CompiledTemplate, choose, readMarkdown } from './compile.ts';
import { addTextFooter } from './footer.ts';
import { writeJson } from './json.ts';
import { type CompiledLayout, fillLayout, usualLayout } from './layout.ts';
import type { Block } from './markdown.ts';
import { toAdaptiveCard } from './markdown-card.ts';
import { isChatMedium, toChat } from './markdown-chat.ts';
import { toHtml } from './markdown-html.ts';
import { toSlackBlocks } from './markdown-slack.ts';
import { toPreview, toText } from './markdown-text.ts';
import { type RunOptions, runTemplate, TemplateError, type TemplateOutput } from './template.ts';
import { knownTimezone } from './template-filters.ts';
import { joinParts, type Values } from './template-slots.ts';

export type { LocalizedWords, MessageContent, TemplateMistake, Words } from './compile.ts';
export {
  type CheckTemplate,
  type CompiledMessage,
  checkTemplate,
  choose,
  compileLayout,
  compileMessage,
  findTemplateMistakes,
} from './compile.ts';
export type { CompiledLayout } from './layout.ts';

/** What a provider gets. */
export interface Content {
  /** One line of plain text, without control characters. */
  title: string;
  /** The body as plain text. */
  text: string;
  /** Email: a whole document. */
  html?: string;
  /** The body in the medium's own markup: Slack's mrkdwn, Discord's Markdown, Telegram's HTML. */
  markup?: string;
  /** Title and body: for Teams an Adaptive Card, for Slack a list of blocks. */
  card?: Json;
  /** Webhook: what to send. */
  data?: Json;
  /** Inbox: the address of a picture. */
  avatar?: string;
  /** Inbox: buttons, of which each has a link, the slug of an event, or acknowledges. */
  actions?: { name: string; label: string; url?: string; event?: string; acknowledge?: true }[];
  /** SMS: how many it takes. */
  segments?: number;
  /** Variables that the context did not have, such as `order.total`. */
  missing: string[];
}

export interface RenderOptions {
  medium: string;
  /** The channel's slug. */
  channel: string;
  /** The recipient's, such as `pt-BR`. */
  locale?: string | undefined;
  /** The variables, plain JSON; `now` and `user.timezone` also tell the date filter what it needs. */
  scope: Record<string, unknown>;
  /** Of an email; absent: the usual one. */
  layout?: CompiledLayout | undefined;
  /** False where nobody reads it. */
  html?: boolean;
  /** Whether others wait meanwhile: it throws TooHeavy where it could take long. */
  inline?: boolean;
  /** What a skeleton reads as that was TooHeavy before. */
  markdown?: { skeleton: string; blocks: Block[] } | undefined;
}

/** Throws `template.failed`: a limit was reached, a webhook's JSON is none, or a strict message lacks a variable. */
export function renderMessage(message: CompiledMessage, options: RenderOptions): Content {
  const { medium, scope, layout = usualLayout, html = true, inline, markdown } = options;
  const { subject, body, locale } = choose(message, options);
  const missing = new Set<string>();
  const user = scope.user as { timezone?: unknown } | null | undefined;
  const timezone = typeof user?.timezone === 'string' ? knownTimezone(user.timezone) : 'UTC';
  const running: RunOptions = { scope, now: scope.now, timezone, locale, missing, inline };

  const given = subject
    ? attempt(subject.field, () => toTitle(subject, runTemplate(subject.template(inline), running)))
    : '';
  const written = attempt(body.field, () => {
    const run = runTemplate(body.template(inline), running);
    const json = toJsonBody(medium, given, body, run);
    if (json) return json;
    const isRead = markdown?.skeleton === run.skeleton;
    const blocks = isRead ? markdown.blocks : readMarkdown(body, run.skeleton, inline);
    return toBody(medium, given, blocks, run.values);
  });
  const content: Content = { ...written.content, missing: [] };
  if (medium === 'email') content.text = addTextFooter(content.text, scope, locale);
  if (medium === 'email' && html) {
    const { blocks = [], values = [] } = written;
    const preheader = toPreview(blocks, values, 140);
    const parts = { content: toHtml(blocks, values), title: content.title, preheader, lang: locale };
    content.html = attempt('layout', () => fillLayout(layout, parts, running));
  }
  if (medium === 'inbox') Object.assign(content, toInApp(message, running));
  if (message.strict && missing.size > 0) {
    throw new AppError('template.failed', `the context lacks ${[...missing].join(', ')}`);
  }
  content.missing = [...missing];
  return content;
}

interface Written {
  content: Omit<Content, 'missing'>;
  blocks?: readonly Block[];
  values?: Values;
}

/** A body that its author wrote as JSON, if it is one. */
function toJsonBody(
  medium: string,
  title: string,
  { field, readJson }: CompiledTemplate,
  run: TemplateOutput,
): Written | undefined {
  const [, sign] = medium === 'webhook' ? (/^\s*([[{])/.exec(run.skeleton) ?? []) : [];
  if (sign === undefined) return undefined;
  const json = writeJson(readJson(run.skeleton), run.values);
  if (json) return { content: { title, text: json.text, data: json.data } };
  // The message's own body is Markdown, and a bracket can begin a link; an override like this was meant as JSON.
  if (sign === '[' || field === 'body') return undefined;
  throw new TemplateError('begins like JSON, but with its values in it is none', 1, 1, undefined);
}

function toBody(medium: string, given: string, blocks: readonly Block[], values: Values): Written {
  const text = toText(blocks, values);
  const title = given || toLine(text.slice(0, text.search(/\n|$/)));
  const content: Written['content'] = { title, text };
  if (medium === 'sms') content.segments = countSegments(text);
  if (medium === 'webhook') content.data = { title, text };
  if (medium === 'teams') content.card = toAdaptiveCard(given, blocks, values);
  if (medium === 'slack') content.card = toSlackBlocks(given, blocks, values);
  if (isChatMedium(medium)) content.markup = toChat(medium, blocks, values);
  return { content, blocks, values };
}

function toInApp({ avatar, actions }: CompiledMessage, running: RunOptions): Pick<Content, 'avatar' | 'actions'> {
  const line = (one: CompiledTemplate) =>
    attempt(one.field, () => toTitle(one, runTemplate(one.template(running.inline), running)));
  const address = (one: CompiledTemplate) => requireWebAddress(line(one), one.field);
  return {
    // Whoever has no picture has none: that fails no message.
    ...(avatar && line(avatar) !== '' && { avatar: address(avatar) }),
    ...(actions.length > 0 && {
      actions: actions.map(({ name, label, url, event, acknowledge }) => ({
        name,
        label: line(label) || name,
        ...(url && { url: address(url) }),
        ...(event !== undefined && { event }),
        ...(acknowledge && { acknowledge }),
      })),
    }),
  };
}

function toTitle({ readLine }: CompiledTemplate, { skeleton, values }: TemplateOutput): string {
  return toLine(joinParts(readLine(skeleton), values));
}

const longestTitle = 250;

/** One line: what reads it may be the header of a mail. */
function toLine(text: string): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length <= longestTitle ? line : `${line.slice(0, longestTitle - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function attempt<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const place = `line ${error.line}, column ${error.column}: ${error.message}`;
    throw new AppError('template.failed', `${field}, ${place}`, { fields: { [field]: [place] }, cause: error });
  }
}
