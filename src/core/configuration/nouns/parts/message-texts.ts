/** The texts of a message that differ: by language, by channel, or in the second variant of a canary. */
import { Type } from 'typebox';
import { Body, closed, Subject } from '../schemas.ts';

const LocalizedText = Type.Object({ subject: Type.Optional(Subject), body: Type.Optional(Body) }, closed);
export const locales = Type.Optional(
  Type.Record(Type.String(), LocalizedText, {
    description: 'Translations by language tag. pt-BR is preferred over pt, and pt over the untranslated text.',
  }),
);
export const Override = Type.Object({ subject: Type.Optional(Subject), body: Type.Optional(Body), locales }, closed);
export const Overrides = Type.Record(Type.String(), Override, {
  description: 'Overrides for a channel, by its slug or type.',
});
