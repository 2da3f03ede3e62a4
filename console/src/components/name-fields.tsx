/** The name of something and, while it is new, its slug, which follows from the name until another one is entered. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { limitsOf, type RequestBody } from '../form-fields.ts';
import { slugFrom } from './slug.ts';

interface NameFieldsProps extends Pick<TextInputProps, 'placeholder'> {
  form: { values: { name: string; slug: string }; getInputProps: (field: 'name' | 'slug') => object };
  body: RequestBody;
  texts: { name: string; nameHint: string; slug: string; slugHint: string };
  isNew?: boolean;
  'data-autofocus'?: boolean;
}

export function NameFields({ form, body, texts, isNew = true, ...name }: NameFieldsProps) {
  return (
    <>
      <TextInput
        label={texts.name}
        description={texts.nameHint}
        {...name}
        {...limitsOf(body, 'name')}
        {...form.getInputProps('name')}
      />
      {isNew && (
        <TextInput
          label={texts.slug}
          description={texts.slugHint}
          classNames={{ input: 'mono' }}
          {...limitsOf(body, 'slug')}
          {...form.getInputProps('slug')}
          value={form.values.slug || slugFrom(form.values.name)}
        />
      )}
    </>
  );
}
