/** What is wrong with the words of a document: templates that do not parse, and languages that are none. */
import { type ActionEntry, findActionMistakes } from '../inbox-actions.ts';
import { isObject } from '../json.ts';
import {
  type CheckTemplate,
  checkLayoutSource,
  findTemplateMistakes,
  type LocalizedWords,
  type MessageContent,
  type Words,
} from '../render/compile.ts';
import { normalizeLocale, notALocale } from '../text.ts';

export type Complain = (at: string, message: string) => void;

/** Of a notification: its message and its overrides. Whatever is not of the right form is passed over. */
export function checkWords(
  notification: { message?: unknown; overrides?: unknown },
  at: string,
  complain: Complain,
  check?: CheckTemplate,
) {
  const { message, overrides } = notification;
  const variants = new Map([['message', message]]);
  if (isObject(overrides)) {
    for (const [name, words] of Object.entries(overrides)) variants.set(`overrides/${name}`, words);
  }
  for (const [place, words] of variants) {
    if (!isObject(words)) continue;
    checkLocales(words.locales, `${at}/${place}/locales`, complain);
    // Each by itself, so that a message without a body does not hide what is wrong with the rest.
    const inApp = place === 'message' ? readInApp(words) : {};
    for (const { at: field, message: told } of findActionMistakes(inApp.actions ?? [])) {
      complain(`${at}/message/actions/${field}`, told);
    }
    for (const mistake of findTemplateMistakes({ body: '', ...readVariants(words), ...inApp }, check)) {
      complain(`${at}/${place}/${mistake.field}`, located(mistake));
    }
  }
}

export function checkLayout(body: unknown, at: string, complain: Complain, check?: CheckTemplate): void {
  if (typeof body !== 'string') return;
  const mistake = checkLayoutSource(body, check);
  if (mistake) complain(at, located(mistake));
}

export function checkLocale(locale: unknown, at: string, complain: Complain): void {
  if (typeof locale !== 'string' || locale === '' || normalizeLocale(locale) !== undefined) return;
  complain(at, notALocale);
}

function checkLocales(locales: unknown, at: string, complain: Complain): void {
  if (!isObject(locales)) return;
  const seen = new Map<string, string>();
  for (const locale of Object.keys(locales)) {
    const normal = normalizeLocale(locale);
    if (normal === undefined) {
      complain(`${at}/${locale}`, notALocale);
      continue;
    }
    const first = seen.get(normal);
    if (first !== undefined) complain(`${at}/${locale}`, `is the same language as ${first}`);
    else seen.set(normal, locale);
  }
}

function readVariants(words: Record<string, unknown>): LocalizedWords {
  const locales = isObject(words.locales) ? Object.entries(words.locales) : [];
  const readable = locales.flatMap(([locale, translated]): [string, Words][] =>
    isObject(translated) ? [[locale, readWords(translated)]] : [],
  );
  return { ...readWords(words), locales: Object.fromEntries(readable) };
}

/** Those actions that have the right form. */
function readInApp({ avatar, actions }: Record<string, unknown>): Pick<MessageContent, 'avatar' | 'actions'> {
  const isText = (value: unknown) => typeof value === 'string';
  const isAction = (one: unknown): one is ActionEntry =>
    isObject(one) &&
    isText(one.name) &&
    isText(one.label) &&
    [one.url, one.event].every(v => v === undefined || isText(v));
  const isReadable = Array.isArray(actions) && actions.every(isAction);
  return { ...(typeof avatar === 'string' && { avatar }), ...(isReadable && { actions }) };
}

function readWords({ subject, body }: Record<string, unknown>): Words {
  return {
    ...(typeof subject === 'string' && { subject }),
    ...(typeof body === 'string' && { body }),
  };
}

function located({ line, column, message }: { line: number; column: number; message: string }): string {
  return `line ${line}, column ${column}: ${message}`;
}
