/**
 * What chat services would make of a request: whom it notifies, and how it is structured. Each judge reads the service's own
 * format, and is stricter than the service where its rules are not documented.
 */
import { marked } from 'marked';
import type { RecordedRequest } from './http-peer.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies are of any shape
type Body = any;

interface Judge {
  /** Everything by which the service would notify a person, a group or a room. */
  rings(body: Body): string[];
  /** The elements of the text, such as links. A value may take some away, as spaces inside bold text do, but add none. */
  marks(body: Body): string[];
  /** Everything else, without texts: a value changes none of it. */
  frame?(body: Body): unknown;
}

/** Whether the elements are in the others, in this order. */
export function isWithin(elements: readonly string[], others: readonly string[]): boolean {
  let at = 0;
  for (const other of others) if (other === elements[at]) at++;
  return at === elements.length;
}

export function bodyOf({ headers, body }: RecordedRequest): Body {
  const isForm = headers['content-type'] === 'application/x-www-form-urlencoded';
  return isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body);
}

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', commat: '@', ast: '*', num: '#' };
const decode = (text: string) =>
  text.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(\w+));/gi, (found, decimal, hex, name) => {
    if (name) return named[name.toLowerCase()] ?? found;
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16));
  });
const unescapeText = (text: string) => decode(text).replace(/\\([!-/:-@[-`{-~])/g, '$1');
const all = (pattern: RegExp, ...texts: string[]) => texts.flatMap(text => text.match(pattern) ?? []);

/** Mattermost splits the text at everything but letters, digits and :.-_@, and looks at each word and at its parts. */
function wordMentions(text: string, read = unescapeText): string[] {
  return read(text)
    .split(/[^\p{L}\p{N}:._@-]+/u)
    .flatMap(word => [word, ...word.split(/[.:-]/)])
    .map(word => word.replace(/^[:._-]+/, ''))
    .filter(word => /^@[\p{L}\p{N}]/u.test(word));
}

/** The kinds of elements in a document, except for what a reader would type: text, paragraphs and bare URLs. */
function markdownMarks(text: string): string[] {
  const kinds: string[] = [];
  marked.walkTokens(marked.lexer(text, { gfm: true }), token => {
    const isBare = token.type === 'link' && !token.raw.startsWith('[');
    const isIndented = token.type === 'code' && token.codeBlockStyle === 'indented';
    const isPlain = ['text', 'paragraph', 'space', 'br', 'escape'].includes(token.type);
    if (!isBare && !isIndented && !isPlain) kinds.push(token.type);
  });
  return kinds;
}

/** The tags of a fragment in order. Everything else must be text. */
function htmlMarks(html: string): string[] {
  const tags = html.match(/<[^<>]*>/g) ?? [];
  const rest = html.replace(/<[^<>]*>/g, '');
  if (/[<>]/.test(rest)) throw new Error(`a bracket in the text: ${rest}`);
  return tags.filter(tag => tag !== '<br>').map(tag => tag.replace(/ href="[^"]*"/, ' href'));
}

const withoutTexts = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, field) => {
      const isText = ['text', 'title', 'url', 'label', 'name', 'content', 'markdown', 'message', 'body'].includes(key);
      return isText && typeof field === 'string' ? '' : field;
    }),
  );

const discord: Judge = {
  rings: ({ content, allowed_mentions }) =>
    JSON.stringify(allowed_mentions) === '{"parse":[]}' ? [] : all(/@everyone|@here|<@[!&]?\d+>/g, content),
  marks: ({ content }) => markdownMarks(content),
  frame: ({ components }) => withoutTexts(components ?? []),
};

const slack: Judge = {
  rings: body => [
    ...all(/<[@!#][^>]*>?/g, body.text),
    ...all(/"type":"(?:user|usergroup|broadcast|channel)"|"link_names"|"parse"/g, JSON.stringify(body)),
  ],
  // A link is <url|text>.
  marks: ({ text }) => (text.match(/<[^>]*>/g) ?? []).map(() => 'link'),
  frame: ({ blocks }) => withoutTexts(blocks ?? []),
};

const markdown = (field: string, rings: (text: string) => string[]): Judge => ({
  rings: body => rings(body[field]),
  marks: body => markdownMarks(body[field]),
  frame: body => withoutTexts({ ...body, [field]: '' }),
});

export const chatJudges: Record<string, Judge> = {
  slack,
  // Mattermost accepts the same requests, and shows the text.
  'slack-webhook': { ...slack, rings: body => [...slack.rings(body), ...wordMentions(body.text)] },
  'discord-webhook': discord,
  'discord-bot': discord,
  teams: {
    // Without entities, <at> is text.
    rings: body => all(/"entities"|"mention/g, JSON.stringify(withoutTexts(body))),
    marks: () => [],
    frame: body => withoutTexts({ ...body, summary: '' }),
  },
  'teams-workflow': {
    rings: body => all(/"entities"|<at>/g, JSON.stringify(body).replace(/"text":"(?:[^"\\]|\\.)*"/g, '')),
    marks: () => [],
    frame: withoutTexts,
  },
  'telegram-bot': {
    rings: ({ text }) => [
      ...all(/tg:\/\/user/g, ...(text.match(/<[^>]*>/g) ?? [])),
      ...all(/(?<![\p{L}\p{N}_])@\w{2,}/gu, decode(text.replace(/<[^>]*>/g, ''))),
    ],
    marks: ({ text, parse_mode }) => (parse_mode === 'HTML' ? htmlMarks(text) : []),
    frame: ({ reply_markup }) => withoutTexts(reply_markup ?? {}),
  },
  mattermost: markdown('message', wordMentions),
  // The parser of older servers looks at the raw text.
  rocketchat: markdown('text', text => all(/(?:^|[\s>*_~("'])@[0-9a-z_.-]+/gim, text, unescapeText(text))),
  zulip: markdown('content', text =>
    all(
      /(?<![^\s'"({[/<*])@_?(?:\*|all|everyone|channel|stream|topic|here|[a-z])|^\s*\/\w+/gi,
      text,
      unescapeText(text),
    ),
  ),
  webex: markdown('markdown', text => all(/<@(?:all|person)[^>]*>?/gi, text, unescapeText(text))),
  'google-chat': {
    rings: ({ text }) => all(/<(?:users|customers)\/[^>]*>?/g, text),
    marks: ({ text }) => (text.match(/<[^>|\u200b]+[|>]/g) ?? []).map(() => 'link'),
    frame: ({ cardsV2 }) => withoutTexts(cardsV2 ?? []),
  },
  matrix: {
    rings: body =>
      [body, body['m.new_content'] ?? body].flatMap(one =>
        JSON.stringify(one['m.mentions']) === '{}' ? [] : ['@room'],
      ),
    marks: ({ formatted_body = '' }) => htmlMarks(formatted_body),
  },
  signal: { rings: body => (body.mentions || body.text_mode ? ['mention'] : []), marks: body => Object.keys(body) },
  apprise: {
    rings: ({ title = '', body }) => [
      ...wordMentions(title, text => text),
      ...wordMentions(body.replace(/<[^>]*>/g, ' '), decode),
    ],
    marks: ({ body, format }) => (format === 'html' ? htmlMarks(body) : []),
  },
};
