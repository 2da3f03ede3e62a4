/**
 * Two variants of a message in the sample of a canary: a is the notification's own message, b has other texts. Each goes to one half of
 * the sample, and the one with more clicks, or more acknowledgements, to the others.
 */
import { type Static, Type } from 'typebox';
import { Override, Overrides } from '../../configuration/nouns/parts/message-texts.ts';
import { closed } from '../../configuration/nouns/schemas.ts';

export const variantNames = ['a', 'b'] as const;
export type VariantName = (typeof variantNames)[number];
export const winnerKinds = ['clicks', 'acknowledgements'] as const;
export type WinnerKind = (typeof winnerKinds)[number];

export const Variants = Type.Object(
  {
    winner_by: Type.Enum([...winnerKinds], {
      description:
        '`clicks`: messages with a link that was clicked. `acknowledgements`: messages with an action that their recipient took. ' +
        'Both as a share of the attempted messages.',
    }),
    b: Type.Object(
      {
        message: Type.Unsafe<Static<typeof Override>>({
          ...Override,
          minProperties: 1,
          description:
            'Texts of the second variant. What is absent is as in the message of the notification, the first variant.',
        }),
        overrides: Type.Optional(Overrides),
      },
      closed,
    ),
  },
  closed,
);
export type Variants = Static<typeof Variants>;

/** The texts of the second variant, as they are stored with a version of the message. */
export type VariantTexts = Variants['b'];

type Texts = Static<typeof Override>;
interface Content {
  message: Texts;
  overrides: Record<string, Texts>;
  variant?: VariantTexts;
}

/** Returns the content with the texts of a variant. */
export function contentOfVariant<C extends Content>(
  { variant, ...content }: C,
  name: VariantName | null,
): Omit<C, 'variant'> {
  if (name !== 'b' || !variant) return content;
  const overrides: Content['overrides'] = { ...content.overrides };
  for (const [channel, texts] of Object.entries(variant.overrides ?? {})) {
    overrides[channel] = withTexts(overrides[channel] ?? {}, texts);
  }
  return { ...content, message: withTexts(content.message, variant.message), overrides };
}

function withTexts<T extends Texts>(own: T, { locales, ...texts }: Texts): T {
  const translated = { ...own.locales };
  for (const [locale, other] of Object.entries(locales ?? {})) translated[locale] = { ...translated[locale], ...other };
  return { ...own, ...texts, ...(Object.keys(translated).length > 0 && { locales: translated }) };
}

/** What became of the messages of one variant. */
export interface VariantCounts {
  variant: VariantName;
  messages: number;
  attempted: number;
  clicks: number;
  acknowledgements: number;
}

export interface VariantFigures {
  winner_by: WinnerKind;
  variants: VariantCounts[];
  /** The variant that the others get. */
  winner: VariantName;
}

const none = { messages: 0, attempted: 0, clicks: 0, acknowledgements: 0 };

/** Returns the figures with the winner: the variant with the higher share. With the same share, also with none, it is the first. */
export function judgeVariants(kind: WinnerKind, counted: readonly VariantCounts[] = []): VariantFigures {
  const [a, b] = variantNames.map(variant => counted.find(one => one.variant === variant) ?? { variant, ...none });
  // Compared without a division, which would round.
  const isBetter = b![kind] * a!.attempted > a![kind] * b!.attempted || (b![kind] > 0 && a!.attempted === 0);
  return { winner_by: kind, variants: [a!, b!], winner: isBetter ? 'b' : 'a' };
}

/** Describes the figures: "3 of 100 messages of variant a were clicked (3%), …". */
export function describeVariants({ winner_by, variants, winner }: VariantFigures): string {
  const shares = variants.map(({ variant, attempted, ...counts }) => {
    const share = attempted > 0 ? ` (${percent(counts[winner_by] / attempted)})` : '';
    return `${counts[winner_by]} of ${attempted} with variant ${variant}${share}`;
  });
  return `${verbs[winner_by]}: ${shares.join(', ')}. The others get variant ${winner}.`;
}

const verbs: Record<WinnerKind, string> = { clicks: 'Clicked', acknowledgements: 'Acknowledged' };

export const percent = (share: number): string => `${Number((share * 100).toFixed(2))}%`;
