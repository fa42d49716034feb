/** Calls the browser's passkey API, which workers do not have. Secrets go straight to the worker. */
import type { NewPasskeyRequest, PasskeyAnswer, PasskeyRequest } from '@szafa/protocol';
import type { BrowserPasskey, Prf } from '../core/bridge/calls.ts';
import { CallError } from '../core/call.ts';

type Bytes = Uint8Array<ArrayBuffer>;
const bytes = (text: string) => Uint8Array.fromBase64(text, { alphabet: 'base64url' }) as Bytes;
const text = (buffer: ArrayBuffer) =>
  new Uint8Array(buffer).toBase64({ alphabet: 'base64url', omitPadding: true });
const listed = (ids: string[]) => ids.map((id) => ({ type: 'public-key' as const, id: bytes(id) }));
/** ES256, Ed25519, RS256. */
const ALGORITHMS = [-7, -8, -257].map((alg) => ({ type: 'public-key' as const, alg }));

/** Browsers do not say why they return no passkey: the user cancelled, it timed out, or there is none. */
async function asked(asking: Promise<Credential | null>): Promise<PublicKeyCredential> {
  const found = await asking.catch((error: unknown) => {
    const { name } = error as Error;
    throw new CallError({
      code: name === 'InvalidStateError' ? 'passkey-known' : 'no-passkey',
      message: name,
    });
  });
  if (!found) throw new CallError({ code: 'no-passkey', message: 'none' });
  return found as PublicKeyCredential;
}

function secretOf(found: PublicKeyCredential): Bytes | undefined {
  const first = found.getClientExtensionResults().prf?.results?.first;
  return first && new Uint8Array(first as ArrayBuffer);
}

/** `prf` is the input for the passkey's secret, if one is needed. User verification is then required. */
async function get(
  request: Pick<PasskeyRequest, 'challenge' | 'rp_id' | 'passkeys'>,
  prf: Bytes | undefined,
) {
  return asked(
    navigator.credentials.get({
      publicKey: {
        challenge: bytes(request.challenge),
        rpId: request.rp_id,
        allowCredentials: listed(request.passkeys),
        userVerification: prf ? 'required' : 'preferred',
        ...(prf && { extensions: { prf: { eval: { first: prf } } } }),
      },
    }),
  );
}

function answerOf(found: PublicKeyCredential): PasskeyAnswer {
  const { clientDataJSON, authenticatorData, signature, userHandle } =
    found.response as AuthenticatorAssertionResponse;
  return {
    id: text(found.rawId),
    client_data: text(clientDataJSON),
    authenticator_data: text(authenticatorData),
    signature: text(signature),
    ...(userHandle && userHandle.byteLength > 0 && { user_handle: text(userHandle) }),
  };
}

/** Uses a passkey as the second factor, after the password. */
export async function confirmPasskey(request: PasskeyRequest): Promise<PasskeyAnswer> {
  return answerOf(await get(request, undefined));
}

/** Uses a passkey alone to sign in. Its secret takes the place of the password. */
export async function enterByPasskey(
  request: PasskeyRequest & Prf,
): Promise<{ answer: PasskeyAnswer; secret: Bytes }> {
  const found = await get(request, request.prf);
  const secret = secretOf(found);
  if (!secret) throw new CallError({ code: 'passkey-second', message: 'it makes no secret' });
  return { answer: answerOf(found), secret };
}

/** Creates a passkey. Some authenticators return its secret only on a second request. */
export async function makePasskey(
  request: NewPasskeyRequest & Prf,
  username: string,
): Promise<BrowserPasskey> {
  const { challenge, rp_id: id, user_id, passkeys, prf } = request;
  const found = await asked(
    navigator.credentials.create({
      publicKey: {
        challenge: bytes(challenge),
        rp: { id, name: `szafa ${id}` },
        user: { id: bytes(user_id), name: username, displayName: username },
        pubKeyCredParams: ALGORITHMS,
        excludeCredentials: listed(passkeys),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
        attestation: 'none',
        extensions: { credProps: true, prf: { eval: { first: prf } } },
      },
    }),
  );
  const { clientDataJSON, attestationObject } = found.response as AuthenticatorAttestationResponse;
  const made = {
    id: text(found.rawId),
    client_data: text(clientDataJSON),
    attestation: text(attestationObject),
  };
  const { credProps, prf: can } = found.getClientExtensionResults();
  // A passkey that is not discoverable cannot sign in alone: the browser finds it only by its id.
  if (!can?.enabled || credProps?.rk === false) return made;
  const local = text(crypto.getRandomValues(new Uint8Array(32)).buffer);
  const again = { challenge: local, rp_id: id, passkeys: [made.id] };
  const secret = secretOf(found) ?? secretOf(await get(again, prf).catch(() => found));
  return secret ? { ...made, secret } : made;
}
