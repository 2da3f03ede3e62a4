import { Button, Checkbox, Group, Input, Stack, Text } from '@mantine/core';
import { actionName, groupByNoun, permissionName, presets, resourceTexts } from '../../permissions.ts';
import { texts } from '../../texts/keys.ts';

interface PermissionPickerProps {
  /** The user's own permissions; no one can grant more. */
  grantable: string[];
  value: string[];
  onChange: (permissions: string[]) => void;
  error?: string;
}

export function PermissionPicker({ grantable, value, onChange, error }: PermissionPickerProps) {
  const chosen = new Set(value);
  const isSelected = (included: string[]) =>
    included.length === chosen.size && included.every(name => chosen.has(name));
  return (
    <Input.Wrapper label={texts.permissions} labelElement="div" error={error} withAsterisk>
      <Group gap={6} my={6}>
        {presets.map(({ name, meaning, includes }) => {
          const included = grantable.filter(includes);
          return (
            <Button
              key={name}
              title={meaning}
              variant={isSelected(included) ? 'light' : 'default'}
              size="compact-xs"
              aria-pressed={isSelected(included)}
              onClick={() => onChange(included)}
            >
              {name}
            </Button>
          );
        })}
        <Button
          variant={isSelected(grantable) ? 'light' : 'default'}
          size="compact-xs"
          aria-pressed={isSelected(grantable)}
          onClick={() => onChange(grantable)}
        >
          {texts.allMyPermissions}
        </Button>
      </Group>
      <Stack gap={0} className="card">
        {groupByNoun(grantable).map(([noun, permissions]) => (
          <Group
            key={noun}
            px="sm"
            py={7}
            justify="space-between"
            gap="xs"
            role="group"
            aria-label={resourceTexts[noun]?.name ?? noun}
            className="permission"
          >
            <div>
              <Text size="sm" fw={500}>
                {resourceTexts[noun]?.name ?? noun}
              </Text>
              <Text size="xs" c="dimmed">
                {resourceTexts[noun]?.meaning}
              </Text>
            </div>
            <Group gap="md">
              {permissions.map(permission => (
                <Checkbox
                  key={permission}
                  size="xs"
                  label={actionName(permission)}
                  aria-label={permissionName(permission)}
                  title={permission}
                  checked={chosen.has(permission)}
                  onChange={({ currentTarget }) =>
                    onChange(currentTarget.checked ? [...value, permission] : value.filter(each => each !== permission))
                  }
                />
              ))}
            </Group>
          </Group>
        ))}
      </Stack>
    </Input.Wrapper>
  );
}
