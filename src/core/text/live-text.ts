/**
 * Text as its recipient got it. The links in it act in the recipient's name: they acknowledge, unsubscribe and change
 * preferences. So it is not a string: `textFor` is the only way to read it, and asks for whom.
 */
declare const live: unique symbol;

export interface LiveText {
  readonly [live]: true;
}

/** Recipients prove with their token who they are. Accounts and API keys are never recipients, whatever their permissions. */
export type Viewer = 'recipient' | 'other';

/** The placeholder for the token of links in previews, simulations, the history, and messages that others look at. */
export const sampleToken = 'preview';

/** Tokens of links, of recipients, of tracked links and of buttons, and return paths, wherever and however a template put them. */
const tokens = new RegExp(
  // Both kinds begin alike, which is read once: most words are neither.
  `[0-9a-z]{1,10}(?:${[
    String.raw`(?:\.[0-9a-z]{1,10}){2}(?:\.[\w-]{1,100}){0,2}\.[\w-]{43}(?![\w-])`,
    // After `b-`, that of a return path.
    String.raw`(?:-[0-9a-z]{1,10})?-[0-9a-z]{1,25}-[0-9a-z]{1,10}(?:-[ar012])?(?:\.[\w-]{1,2200})?[.-][0-9a-z]{16}(?![0-9a-z])`,
  ].join('|')})`,
  'gi',
);

/** Returns a text in which no token of Belfry works. */
export function withoutTokens(text: string): string {
  return text.replace(tokens, sampleToken);
}

export function textFor(viewer: Viewer, text: LiveText): string {
  const sent = text as unknown as string;
  return viewer === 'recipient' ? sent : withoutTokens(sent);
}
