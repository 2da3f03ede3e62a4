/** What a password must be. Length is what counts: no rules of composition, which only make people write them down. */
import { randomInt } from 'node:crypto';
import { fold } from './text.ts';

export const passwordLength = { least: 10, most: 200 } as const;

/** Long enough, and yet among the first that anybody tries. */
const common = new Set([
  '1234567890',
  '0123456789',
  '0987654321',
  '1111111111',
  '0000000000',
  '12345678910',
  '123456789a',
  '1q2w3e4r5t',
  '1qaz2wsx3edc',
  'qwertyuiop',
  'qwerty12345',
  'qwertyuiop123',
  'password12',
  'password123',
  'password1234',
  'passwordpassword',
  'administrator',
  'letmeinplease',
  'iloveyou123',
  'changeme123',
  'welcome123',
  'belfrybelfry',
]);

/** What is wrong with it, or undefined. */
export function passwordMistake(password: string, email: string): string | undefined {
  const { least, most } = passwordLength;
  const length = [...password].length;
  if (length < least) return `is too short: it needs ${least} characters`;
  if (length > most) return `is longer than ${most} characters`;
  const folded = fold(password);
  if (folded === fold(email)) return 'is the email address: choose something that nobody can guess';
  if (common.has(folded) || new Set(folded).size < 3) return 'is one of those that everybody tries first';
  return undefined;
}

const consonants = 'bdfghjklmnprstvwz';
const vowels = 'aeiou';

/** For a first sign-in: 64 bits that can be read aloud and typed. */
export function readablePassword(): string {
  const pick = (letters: string) => letters[randomInt(letters.length)]!;
  const syllable = () => pick(consonants) + pick(vowels);
  return Array.from({ length: 5 }, () => syllable() + syllable()).join('-');
}
