/** Form fields of a category. */
import {
  Button,
  Fieldset,
  Group,
  Input,
  MultiSelect,
  Radio,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { media } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import type { useApiForm } from '../../components/api-form.tsx';
import { GuardedIcon } from '../../components/guarded.tsx';
import { NameFields } from '../../components/name-fields.tsx';
import { texts } from '../../texts/preferences.ts';
import type { CategoryValues } from './category-values.ts';

type Form = ReturnType<typeof useApiForm<CategoryValues, unknown>>['form'];

const types = media.map(type => ({ value: type, label: getChannelType(type).name }));
/** Webhooks are received by programs, so the preference page does not offer them. */
const personalTypes = types.filter(({ value }) => value !== 'webhook');
const kinds = Object.keys(texts.kinds);

export function CategoryFields({ form, isNew, isDisabled }: { form: Form; isNew: boolean; isDisabled: boolean }) {
  const { kind, isOn, exceptions, channels } = form.values;
  const isRequired = kind === 'required';
  return (
    <Fieldset variant="unstyled" disabled={isDisabled}>
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, xs: isNew ? 2 : 1 }}>
          <NameFields form={form} body="NewCategory" texts={texts} isNew={isNew} placeholder={texts.newsletter} />
        </SimpleGrid>
        <Textarea
          label={texts.description}
          description={texts.descriptionHint}
          placeholder={texts.onceAMonth}
          autosize
          minRows={1}
          maxRows={4}
          {...form.getInputProps('description')}
        />
        <Radio.Group label={texts.kind} {...form.getInputProps('kind')}>
          <Stack gap="xs" mt={6}>
            {kinds.map(one => (
              <Radio key={one} value={one} label={texts.kinds[one]} description={texts.kindMeanings[one]} />
            ))}
          </Stack>
        </Radio.Group>
        {isRequired ? (
          <Switch
            label={texts.ignoreQuietHours}
            description={texts.ignoreQuietHoursHint}
            {...form.getInputProps('ignoresQuietHours', { type: 'checkbox' })}
          />
        ) : (
          <Input.Wrapper label={texts.defaultState} labelElement="div">
            <Stack gap="xs" mt={4}>
              <Switch label={texts.isOnByDefault} {...form.getInputProps('isOn', { type: 'checkbox' })} />
              <MultiSelect
                label={isOn ? texts.exceptionsOff : texts.exceptionsOn}
                data={types}
                placeholder={exceptions.length === 0 ? texts.none : undefined}
                clearable
                {...form.getInputProps('exceptions')}
                error={form.errors.channel_defaults}
              />
            </Stack>
          </Input.Wrapper>
        )}
        <MultiSelect
          label={texts.offeredChannels}
          description={texts.offeredChannelsHint}
          data={personalTypes}
          placeholder={channels.length === 0 ? texts.allChannelTypes : undefined}
          clearable
          {...form.getInputProps('channels')}
        />
        {!isRequired && (
          <Switch
            label={texts.track}
            description={texts.trackHint}
            {...form.getInputProps('isTracked', { type: 'checkbox' })}
            error={form.errors.track}
          />
        )}
        <Translations form={form} isDisabled={isDisabled} />
      </Stack>
    </Fieldset>
  );
}

function Translations({ form, isDisabled }: { form: Form; isDisabled: boolean }) {
  const { locales } = form.values;
  return (
    <Input.Wrapper
      label={texts.translations}
      description={texts.translationsHint}
      labelElement="div"
      error={form.errors.locales}
    >
      <Stack gap="xs" mt={6}>
        {locales.map(({ locale }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has nothing but what is typed into it
          <Group key={i} gap="xs" align="flex-start" wrap="nowrap">
            <TextInput
              aria-label={texts.language}
              placeholder={texts.language}
              w={100}
              {...form.getInputProps(`locales.${i}.locale`)}
            />
            <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" flex={1}>
              <TextInput
                aria-label={texts.name}
                placeholder={texts.name}
                {...form.getInputProps(`locales.${i}.name`)}
              />
              <TextInput
                aria-label={texts.description}
                placeholder={texts.description}
                {...form.getInputProps(`locales.${i}.description`)}
              />
            </SimpleGrid>
            <GuardedIcon
              permission="category:write"
              label={texts.removeTranslation(locale)}
              size={36}
              onClick={() => form.removeListItem('locales', i)}
            >
              <IconTrash size={15} stroke={1.6} />
            </GuardedIcon>
          </Group>
        ))}
        {locales.length === 0 && (
          <Text size="sm" c="dimmed">
            {texts.none}
          </Text>
        )}
        <div>
          <Button
            variant="default"
            disabled={isDisabled}
            leftSection={<IconPlus size={14} stroke={1.6} />}
            onClick={() => form.insertListItem('locales', { locale: '', name: '', description: '' })}
          >
            {texts.addTranslation}
          </Button>
        </div>
      </Stack>
    </Input.Wrapper>
  );
}
