/** Form values of a category, and their conversion from and to the API. */
import type { Category, NewCategory } from '../../api-types.ts';
import { texts } from '../../texts/preferences.ts';

export interface CategoryValues extends Record<string, unknown> {
  name: string;
  slug: string;
  description: string;
  kind: Category['kind'];
  isOn: boolean;
  /** Channel types with the opposite default. */
  exceptions: string[];
  /** Empty: all channel types. */
  channels: string[];
  ignoresQuietHours: boolean;
  isTracked: boolean;
  locales: { locale: string; name: string; description: string }[];
}

export const newCategory: CategoryValues = {
  name: '',
  slug: '',
  description: '',
  kind: 'transactional',
  isOn: true,
  exceptions: [],
  channels: [],
  ignoresQuietHours: false,
  isTracked: false,
  locales: [],
};

export function valuesOf(category: Category): CategoryValues {
  return {
    name: category.name,
    slug: category.slug,
    description: category.description,
    kind: category.kind,
    isOn: category.default,
    exceptions: exceptionsOf(category),
    channels: category.channels ?? [],
    ignoresQuietHours: category.quiet_hours === 'ignore',
    isTracked: category.track,
    locales: Object.entries(category.locales).map(([locale, { name = '', description = '' }]) => ({
      locale,
      name,
      description,
    })),
  };
}

export function exceptionsOf({ default: isOn, channel_defaults }: Category): string[] {
  return Object.entries(channel_defaults).flatMap(([type, on]) => (on === isOn ? [] : [type]));
}

export function fieldsOf(values: CategoryValues) {
  const { name, description, kind, isOn, exceptions, channels, ignoresQuietHours, isTracked, locales } = values;
  const translations = locales.map(({ locale, ...one }) => [
    locale.trim(),
    Object.fromEntries(Object.entries(one).filter(([, text]) => text.trim() !== '')),
  ]);
  // A required category is never off, and never tracked.
  const isRequired = kind === 'required';
  return {
    name,
    description,
    kind,
    default: isRequired || isOn,
    channel_defaults: isRequired ? {} : Object.fromEntries(exceptions.map(type => [type, !isOn])),
    channels: channels.length > 0 ? (channels as NonNullable<NewCategory['channels']>) : null,
    quiet_hours: isRequired && ignoresQuietHours ? ('ignore' as const) : ('respect' as const),
    track: !isRequired && isTracked,
    locales: Object.fromEntries(translations) as Category['locales'],
  };
}

export function validate({ locales }: CategoryValues): Record<string, string> {
  const tags = locales.map(({ locale }) => locale.trim());
  const errors = tags.flatMap((tag, i): [string, string][] => {
    if (tag === '') return [[`locales.${i}.locale`, texts.enterALanguage]];
    return tags.indexOf(tag) < i ? [[`locales.${i}.locale`, texts.duplicateLanguage]] : [];
  });
  return Object.fromEntries(errors);
}
