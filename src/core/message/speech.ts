/** Spoken messages, and answers to text messages, as TwiML: https://www.twilio.com/docs/voice/twiml, https://www.twilio.com/docs/messaging/twiml. */
import { lookUp } from '../lookup.ts';

/** Languages that Twilio's voices speak, https://www.twilio.com/docs/voice/twiml/say#attributes-language. The first of a language is its default. */
const spoken = [
  ...['en-US', 'en-GB', 'en-AU', 'en-CA', 'en-IN', 'de-DE', 'fr-FR', 'fr-CA', 'es-ES', 'es-MX', 'it-IT', 'pt-BR'],
  ...['pt-PT', 'nl-NL', 'da-DK', 'sv-SE', 'nb-NO', 'fi-FI', 'pl-PL', 'ru-RU', 'ca-ES', 'ja-JP', 'ko-KR', 'zh-CN'],
  ...['zh-HK', 'zh-TW'],
];

const prompts: Record<string, string> = {
  en: 'Press 1 to acknowledge.',
  de: 'Drücken Sie die 1, um zu bestätigen.',
  es: 'Pulse 1 para confirmar.',
  fr: 'Appuyez sur 1 pour confirmer.',
};

/** Returns the language to speak for a locale such as `de` or `pt-BR`: American English for one that no voice speaks. */
export function speechLanguageOf(locale: string | undefined): string {
  const wanted = (locale ?? '').replace('_', '-').toLowerCase();
  const [language] = wanted.split('-');
  return (
    spoken.find(one => one.toLowerCase() === wanted) ?? spoken.find(one => one.startsWith(`${language}-`)) ?? spoken[0]!
  );
}

/** Returns a document that speaks the text and ends the call. */
export function toSpeech(text: string, locale: string | undefined): string {
  return document(say(text, speechLanguageOf(locale)));
}

/** Returns a document that speaks the text and posts the key that was pressed. */
export function toQuestion(text: string, locale: string | undefined, action: string): string {
  const language = speechLanguageOf(locale);
  const prompt = lookUp(prompts, language.slice(0, 2));
  const spokenPrompt = prompt ? say(prompt, language) : say(prompts.en!, 'en-US');
  const url = escapeXml(action);
  return document(
    `<Gather numDigits="1" timeout="10" method="POST" action="${url}">${say(text, language)}${spokenPrompt}</Gather>`,
  );
}

/** Returns a document that answers a text message, or does not. */
export function toMessageResponse(text: string | undefined): string {
  return document(text === undefined ? '' : `<Message>${escapeXml(text)}</Message>`);
}

function document(inner: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${inner}</Response>`;
}

function say(text: string, language: string): string {
  return `<Say language="${language}">${escapeXml(text)}</Say>`;
}

/** XML cannot express control characters. */
function escapeXml(text: string): string {
  return text
    .replace(/[\p{Cc}\ufffe\uffff\s]+/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
