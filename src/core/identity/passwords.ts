/** Password policy: a minimum length and no composition rules, which only make users write passwords down. */
import { randomInt } from 'node:crypto';
import { fold } from '../text/text.ts';

/** In characters. */
export const passwordLength = { min: 10, max: 200 } as const;

/** Long enough, but among the first guesses of any attacker. */
const commonPasswords = new Set([
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

/** Returns why the password is rejected, or undefined when it is acceptable. */
export function passwordError(password: string, email: string): string | undefined {
  const { min, max } = passwordLength;
  const length = [...password].length;
  if (length < min) return `must be at least ${min} characters long`;
  if (length > max) return `must be at most ${max} characters long`;
  const folded = fold(password);
  if (folded === fold(email)) return 'must not be the email address';
  if (commonPasswords.has(folded) || new Set(folded).size < 3) return 'is too easy to guess';
  return undefined;
}

const consonants = 'bdfghjklmnprstvwz';
const vowels = 'aeiou';

/** Generates a password for a first sign-in: 64 bits of entropy, easy to read aloud and to type. */
export function generateReadablePassword(): string {
  const pick = (letters: string) => letters[randomInt(letters.length)]!;
  const syllable = () => pick(consonants) + pick(vowels);
  return Array.from({ length: 5 }, () => syllable() + syllable()).join('-');
}
