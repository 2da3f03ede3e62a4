/**
 * Renders a message for every medium. Rendering is pure: the same message and the same variables give the same content,
 * so that what was sent can be rendered again later.
 *
 * Liquid runs for each recipient; its result without the values (template-slots.ts) is the same for most of them, so
 * Markdown is parsed once and cached, and a rendering is a walk over a finished tree. Parsing the Markdown each time
 * would take another 50 µs, about as long as everything else. A short message renders 11–20k times per second and core
 * as an email in the default layout, and up to 45k times as an SMS.
 */

import { AppError } from '../errors.ts';
import type { Json } from '../json.ts';
import { type AttachmentReference, attachmentLimits } from '../message/attachments.ts';
import { requireWebAddress } from '../message/inbox-actions.ts';
import { type CompiledMessage, type CompiledTemplate, choose, readMarkdown } from './compile.ts';
import { addTextFooter } from './footer.ts';
import { writeJson } from './json.ts';
import { type CompiledLayout, fillLayout, parsedDefaultLayout } from './layout.ts';
import { resolveLink } from './links.ts';
import { toAdaptiveCard } from './markdown/card.ts';
import { isChatMedium, toChat } from './markdown/chat.ts';
import { toHtml } from './markdown/html.ts';
import type { Block } from './markdown/markdown.ts';
import { toSlackBlocks } from './markdown/slack.ts';
import { toPreview, toText } from './markdown/text.ts';
import { withPrintedUsers } from './on-call.ts';
import { countSegments } from './sms.ts';
import type { RunOptions } from './template/context.ts';
import { resolveTimezone } from './template/filters.ts';
import { Budget, inlineLimits } from './template/limits.ts';
import { joinParts, type Values } from './template/slots.ts';
import { runTemplate, TemplateError, type TemplateOutput } from './template/template.ts';

export type { LocalizedText, MessageContent, MessageText } from './compile.ts';
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

/** A rendered message, as a provider receives it. */
export interface Content {
  /** One line of plain text, without control characters. */
  title: string;
  /** The body as plain text. */
  text: string;
  /** Email: a complete HTML document. Chat: the body as a fragment. */
  html?: string;
  /** The body in the medium's own markup: Slack's mrkdwn, Telegram's HTML, Markdown for Discord and chat. */
  markup?: string;
  /** Title and body as an Adaptive Card (Teams) or a list of blocks (Slack). */
  card?: Json;
  /** Webhook: the JSON to send. Push and WhatsApp: the options of the message. */
  data?: Json;
  /** Inbox and push: the URL of a picture. */
  avatar?: string;
  /** Inbox, push and chats: buttons. Each has a link or the slug of an event, or acknowledges the occurrence. */
  actions?: { name: string; label: string; url?: string; event?: string; acknowledge?: true }[];
  /** Files to fetch and send with the message, besides those of the trigger. */
  attachments?: AttachmentReference[];
  /** SMS: the number of segments. */
  segments?: number;
  /** Variables that the context lacks, such as `order.total`. */
  missing: string[];
}

export interface RenderOptions {
  medium: string;
  /** The channel's slug. */
  channel: string;
  /** The recipient's locale, such as `pt-BR`. */
  locale?: string | undefined;
  /** The variables, plain JSON. The date filter also uses `now` and `user.timezone`. */
  scope: Record<string, unknown>;
  /** The layout of an email. Default: the built-in one. */
  layout?: CompiledLayout | undefined;
  /** False skips the HTML of an email or chat message. */
  html?: boolean;
  /** Whether it runs on the event loop: it throws InlineLimitError when it could take long. */
  inline?: boolean;
  /** The parsed Markdown of a skeleton that exceeded the inline limits before. */
  markdown?: { skeleton: string; blocks: Block[] } | undefined;
}

/** Throws `template.failed` if a limit is reached, a webhook's JSON is invalid, or a strict message lacks a variable. */
export function renderMessage(message: CompiledMessage, options: RenderOptions): Content {
  const { medium, layout = parsedDefaultLayout, html = true, inline, markdown } = options;
  const scope = withPrintedUsers(options.scope);
  const { subject, body, locale } = choose(message, options);
  const missing = new Set<string>();
  const user = scope.user as { timezone?: unknown } | null | undefined;
  const timezone = typeof user?.timezone === 'string' ? resolveTimezone(user.timezone) : 'UTC';
  const budget = inline ? new Budget(inlineLimits) : undefined;
  const runOptions: RunOptions = { scope, now: scope.now, timezone, locale, missing, inline: budget };

  const subjectLine = subject
    ? withFieldErrors(subject.field, () => toTitle(subject, runTemplate(subject.template(budget), runOptions)))
    : '';
  const rendered = withFieldErrors(body.field, () => {
    const run = runTemplate(body.template(budget), runOptions);
    const json = toJsonBody(medium, subjectLine, body, run);
    if (json) return json;
    const isParsed = markdown?.skeleton === run.skeleton;
    const blocks = isParsed ? markdown.blocks : readMarkdown(body, run.skeleton, inline);
    return toBody(medium, subjectLine, blocks, run.values);
  });
  const content: Content = { ...rendered.content, missing: [] };
  if (medium === 'email') content.text = addTextFooter(content.text, scope, locale);
  if (medium === 'email' && html) {
    const { blocks = [], values = [] } = rendered;
    const preheader = toPreview(blocks, values, 140);
    const parts = { content: toHtml(blocks, values), title: content.title, preheader, lang: locale };
    content.html = withFieldErrors('layout', () => fillLayout(layout, parts, runOptions));
  }
  if (medium === 'chat' && html) content.html = toHtml(rendered.blocks ?? [], rendered.values ?? []);
  if (inAppMedia.has(medium)) Object.assign(content, toInApp(message, runOptions));
  else if (buttonMedia.has(medium)) Object.assign(content, toActions(message, runOptions));
  if (message.attachments.length > 0) content.attachments = toAttachments(message, runOptions);
  if (message.strict && missing.size > 0) {
    throw new AppError('template.failed', `the context lacks ${[...missing].join(', ')}`);
  }
  content.missing = [...missing];
  return content;
}

interface RenderedBody {
  content: Omit<Content, 'missing'>;
  blocks?: readonly Block[];
  values?: Values;
}

/** Media whose messages have a picture and buttons. */
const inAppMedia = new Set(['inbox', 'push']);
/** Media whose messages have buttons. */
const buttonMedia = new Set(['slack', 'telegram', 'discord', 'chat']);

/** Media whose messages can be written as JSON. */
const jsonMedia = new Set(['webhook', 'push', 'whatsapp']);

/** Renders a body that its author wrote as JSON; returns undefined for any other body. */
function toJsonBody(
  medium: string,
  title: string,
  { field, readJson }: CompiledTemplate,
  run: TemplateOutput,
): RenderedBody | undefined {
  const [, bracket] = jsonMedia.has(medium) ? (/^\s*([[{])/.exec(run.skeleton) ?? []) : [];
  if (bracket === undefined) return undefined;
  const json = writeJson(readJson(run.skeleton), run.values);
  if (json) return { content: { title, text: json.text, data: json.data } };
  // The message's own body is Markdown, where a bracket can begin a link. An override that starts with { is meant as JSON.
  if (bracket === '[' || field === 'body') return undefined;
  throw new TemplateError('starts like JSON, but is not valid JSON once its values are filled in', 1, 1, undefined);
}

function toBody(medium: string, subjectLine: string, blocks: readonly Block[], values: Values): RenderedBody {
  const text = toText(blocks, values);
  const title = subjectLine || toLine(text.slice(0, text.search(/\n|$/)));
  const content: RenderedBody['content'] = { title, text };
  if (medium === 'sms') content.segments = countSegments(text);
  if (medium === 'webhook') content.data = { title, text };
  if (medium === 'teams') content.card = toAdaptiveCard(subjectLine, blocks, values);
  if (medium === 'slack') content.card = toSlackBlocks(subjectLine, blocks, values);
  if (isChatMedium(medium)) content.markup = toChat(medium, blocks, values);
  return { content, blocks, values };
}

function toInApp(message: CompiledMessage, runOptions: RunOptions): Pick<Content, 'avatar' | 'actions'> {
  const { avatar } = message;
  // An empty avatar does not fail the message.
  const picture = avatar && renderLine(avatar, runOptions) !== '' && { avatar: renderAddress(avatar, runOptions) };
  return { ...picture, ...toActions(message, runOptions) };
}

function toActions({ actions }: CompiledMessage, runOptions: RunOptions): Pick<Content, 'actions'> {
  if (actions.length === 0) return {};
  return {
    actions: actions.map(({ name, label, url, event, acknowledge }) => ({
      name,
      label: renderLine(label, runOptions) || name,
      ...(url && { url: renderAddress(url, runOptions) }),
      ...(event !== undefined && { event }),
      ...(acknowledge && { acknowledge }),
    })),
  };
}

function renderLine(one: CompiledTemplate, runOptions: RunOptions): string {
  return withFieldErrors(one.field, () => toTitle(one, runTemplate(one.template(runOptions.inline), runOptions)));
}

function renderAddress(one: CompiledTemplate, runOptions: RunOptions): string {
  return requireWebAddress(renderLine(one, runOptions), one.field);
}

/** An attachment without a URL is left out, so that a context decides whether there is one. */
function toAttachments({ attachments }: CompiledMessage, runOptions: RunOptions): AttachmentReference[] {
  return attachments.flatMap(({ url, name, content_id }) => {
    const { skeleton, values } = withFieldErrors(url.field, () =>
      runTemplate(url.template(runOptions.inline), runOptions),
    );
    const parts = url.readLine(skeleton);
    if (joinParts(parts, values).trim() === '') return [];
    const address = resolveLink(parts, values) ?? '';
    if (!/^https?:/i.test(address) || address.length > attachmentLimits.url) {
      const message = `must be an http or https URL of at most ${attachmentLimits.url} characters`;
      throw new AppError('template.failed', `${url.field}: ${message}`, { fields: { [url.field]: [message] } });
    }
    const label = name && renderLine(name, runOptions);
    return [{ url: address, ...(label && { name: label }), ...(content_id !== undefined && { content_id }) }];
  });
}

function toTitle({ readLine }: CompiledTemplate, { skeleton, values }: TemplateOutput): string {
  return toLine(joinParts(readLine(skeleton), values));
}

const maxTitleLength = 250;

/** Turns text into a single line, as it may become the header of an email. */
function toLine(text: string): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length <= maxTitleLength ? line : `${line.slice(0, maxTitleLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function withFieldErrors<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const detail = `line ${error.line}, column ${error.column}: ${error.message}`;
    throw new AppError('template.failed', `${field}, ${detail}`, { fields: { [field]: [detail] }, cause: error });
  }
}
