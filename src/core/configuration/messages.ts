/** Checks the messages and layouts of a document: templates that do not parse, and invalid language tags. */

import { isObject } from '../json.ts';
import type { AttachmentEntry } from '../message/attachments.ts';
import { type ActionEntry, findActionMistakes } from '../message/inbox-actions.ts';
import {
  type CheckTemplate,
  checkLayoutSource,
  findTemplateMistakes,
  type LocalizedText,
  type MessageContent,
  type MessageText,
} from '../render/compile.ts';
import { normalizeLocale, notALocale } from '../text/text.ts';

export type ReportError = (at: string, message: string) => void;

/** Checks the message and the overrides of a notification. Values of the wrong type are skipped. */
export function checkMessage(
  notification: { message?: unknown; overrides?: unknown },
  at: string,
  report: ReportError,
  check?: CheckTemplate,
) {
  const { message, overrides } = notification;
  const variants = new Map([['message', message]]);
  if (isObject(overrides)) {
    for (const [name, words] of Object.entries(overrides)) variants.set(`overrides/${name}`, words);
  }
  for (const [place, words] of variants) {
    if (!isObject(words)) continue;
    checkLocales(words.locales, `${at}/${place}/locales`, report);
    // Each variant is checked on its own, so that a message without a body does not hide other mistakes.
    const inApp = place === 'message' ? readInApp(words) : {};
    for (const { at: field, message: text } of findActionMistakes(inApp.actions ?? [])) {
      report(`${at}/message/actions/${field}`, text);
    }
    for (const mistake of findTemplateMistakes({ body: '', ...readVariants(words), ...inApp }, check)) {
      report(`${at}/${place}/${mistake.field}`, withLocation(mistake));
    }
  }
}

export function checkLayout(body: unknown, at: string, report: ReportError, check?: CheckTemplate): void {
  if (typeof body !== 'string') return;
  const mistake = checkLayoutSource(body, check);
  if (mistake) report(at, withLocation(mistake));
}

export function checkLocale(locale: unknown, at: string, report: ReportError): void {
  if (typeof locale !== 'string' || locale === '' || normalizeLocale(locale) !== undefined) return;
  report(at, notALocale);
}

function checkLocales(locales: unknown, at: string, report: ReportError): void {
  if (!isObject(locales)) return;
  const seen = new Map<string, string>();
  for (const locale of Object.keys(locales)) {
    const normal = normalizeLocale(locale);
    if (normal === undefined) {
      report(`${at}/${locale}`, notALocale);
      continue;
    }
    const first = seen.get(normal);
    if (first !== undefined) report(`${at}/${locale}`, `is the same language as ${first}`);
    else seen.set(normal, locale);
  }
}

function readVariants(words: Record<string, unknown>): LocalizedText {
  const locales = isObject(words.locales) ? Object.entries(words.locales) : [];
  const readable = locales.flatMap(([locale, translated]): [string, MessageText][] =>
    isObject(translated) ? [[locale, readWords(translated)]] : [],
  );
  return { ...readWords(words), locales: Object.fromEntries(readable) };
}

/** Returns the avatar, the actions and the attachments if they have the right type. */
function readInApp({
  avatar,
  actions,
  attachments,
}: Record<string, unknown>): Pick<MessageContent, 'avatar' | 'actions' | 'attachments'> {
  const isText = (value: unknown) => typeof value === 'string';
  const isAction = (one: unknown): one is ActionEntry =>
    isObject(one) &&
    isText(one.name) &&
    isText(one.label) &&
    [one.url, one.event].every(v => v === undefined || isText(v));
  const isReadable = Array.isArray(actions) && actions.every(isAction);
  const isAttachment = (one: unknown): one is AttachmentEntry =>
    isObject(one) && isText(one.url) && (one.name === undefined || isText(one.name));
  const areAttachments = Array.isArray(attachments) && attachments.every(isAttachment);
  return {
    ...(typeof avatar === 'string' && { avatar }),
    ...(isReadable && { actions }),
    ...(areAttachments && { attachments }),
  };
}

function readWords({ subject, body }: Record<string, unknown>): MessageText {
  return {
    ...(typeof subject === 'string' && { subject }),
    ...(typeof body === 'string' && { body }),
  };
}

function withLocation({ line, column, message }: { line: number; column: number; message: string }): string {
  return `line ${line}, column ${column}: ${message}`;
}
