//! A reader of JSON, for what a checkpoint says of itself. Nothing is believed: not its depth, not its numbers.

/// How deep values may be nested.
const DEEPEST: usize = 64;
/// A longer text is a mistake, or an attack: values take many times the room that they have in a text.
pub(crate) const LONGEST: usize = 1 << 22;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text.
    pub(crate) fn parse(text: &[u8]) -> Result<Json, String> {
        if text.len() > LONGEST {
            return Err(format!("is not JSON that is read here: it has {} bytes, more than {LONGEST}", text.len()));
        }
        let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8".to_string())?;
        let mut reader = Reader { text: text.as_bytes(), place: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        match reader.place == text.len() {
            true => Ok(value),
            false => Err(reader.wrong("something follows its end")),
        }
    }

    /// A field of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A text.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The fields of an object, in their order; none of anything else.
    pub(crate) fn fields(&self) -> &[(String, Json)] {
        match self {
            Json::Object(fields) => fields,
            _ => &[],
        }
    }

    /// A list.
    pub(crate) fn list(&self) -> Option<&[Json]> {
        match self {
            Json::List(values) => Some(values),
            _ => None,
        }
    }

    /// A number.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A whole number of 0 or more.
    pub(crate) fn whole(&self) -> Option<usize> {
        let number = self.number().filter(|number| number.fract() == 0.0 && (0.0..=2f64.powi(53)).contains(number))?;
        Some(number as usize)
    }
}

struct Reader<'a> {
    text: &'a [u8],
    place: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("is not JSON: at byte {}, {what}", self.place)
    }

    fn blanks(&mut self) {
        while self.text.get(self.place).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            self.place += 1;
        }
    }

    /// Takes a byte if it is the next.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.text.get(self.place) == Some(&byte);
        self.place += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(self.wrong("values are nested too deep"));
        }
        self.blanks();
        match self.text.get(self.place) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b't') => self.word("true", Json::Flag(true)),
            Some(b'f') => self.word("false", Json::Flag(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.digits(),
            _ => Err(self.wrong("a value is missing")),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, String> {
        if !self.text[self.place..].starts_with(word.as_bytes()) {
            return Err(self.wrong("a value is missing"));
        }
        self.place += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> Result<Json, String> {
        let rest = &self.text[self.place..];
        let length = rest.iter().position(|byte| !b"+-.0123456789eE".contains(byte)).unwrap_or(rest.len());
        let text = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| self.wrong("there is no finite number"))?;
        self.place += length;
        Ok(Json::Number(number))
    }

    fn string(&mut self) -> Result<String, String> {
        self.place += 1;
        let mut found: Vec<u8> = Vec::new();
        loop {
            match self.text.get(self.place) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let character = self.escape()?;
                    found.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(&byte) if byte >= b' ' => {
                    found.push(byte);
                    self.place += 1;
                }
                _ => return Err(self.wrong("a text does not end")),
            }
        }
        self.place += 1;
        String::from_utf8(found).map_err(|_| self.wrong("a text is not UTF-8"))
    }

    fn escape(&mut self) -> Result<char, String> {
        let plain = match self.text.get(self.place + 1) {
            Some(b'u') => return self.code(),
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(&byte @ (b'"' | b'\\' | b'/')) => byte as char,
            _ => return Err(self.wrong("an escape is unknown")),
        };
        self.place += 2;
        Ok(plain)
    }

    /// A character by its number; those beyond 16 bits stand in two of them.
    fn code(&mut self) -> Result<char, String> {
        let first = self.hexadecimal()?;
        let code = match first {
            0xD800..=0xDBFF if self.text[self.place..].starts_with(b"\\u") => {
                let second = self.hexadecimal()?;
                0x10000 + ((first - 0xD800) << 10) + (second.wrapping_sub(0xDC00) & 0x3FF)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.wrong("a character has no such number"))
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.place + 2..self.place + 6).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let number = number.ok_or_else(|| self.wrong("a character has no number"))?;
        self.place += 6;
        Ok(number)
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut values = Vec::new();
        self.place += 1;
        self.blanks();
        while !self.takes(b']') {
            if !values.is_empty() && !self.takes(b',') {
                return Err(self.wrong("a list does not end"));
            }
            values.push(self.value(depth + 1)?);
            self.blanks();
        }
        Ok(Json::List(values))
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut fields: Vec<(String, Json)> = Vec::new();
        self.place += 1;
        self.blanks();
        while !self.takes(b'}') {
            if !fields.is_empty() && !self.takes(b',') {
                return Err(self.wrong("an object does not end"));
            }
            self.blanks();
            if self.text.get(self.place) != Some(&b'"') {
                return Err(self.wrong("a field has no name"));
            }
            let name = self.string()?;
            self.blanks();
            if !self.takes(b':') {
                return Err(self.wrong("a field has no value"));
            }
            let value = self.value(depth + 1)?;
            fields.push((name, value));
            self.blanks();
        }
        // All at once: to look through all others for each would take hours.
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(self.wrong("a field stands twice")),
            false => Ok(Json::Object(fields)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_python_writes() {
        let text = br#"{"a": [1, -2.5e3, "x\n\u00e9\ud83d\ude00"], "b": {"c": null, "d": true}, "e": []}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.get("a").unwrap().list().unwrap()[1].number(), Some(-2500.0));
        assert_eq!(json.get("a").unwrap().list().unwrap()[2].text(), Some("x\né😀"));
        assert_eq!(json.get("b").unwrap().get("d"), Some(&Json::Flag(true)));
        assert_eq!(json.get("e").unwrap().list(), Some(&[][..]));
    }

    #[test]
    fn refuses_what_is_not_json() {
        let deep = "[".repeat(10_000);
        for text in
            ["", "{", "[1,]", "{\"a\"}", "{\"a\":1,\"a\":2}", "1e999", "\"\\q\"", "\"\\ud800\"", "nul", "1 2", &deep]
        {
            assert!(Json::parse(text.as_bytes()).is_err(), "{text:.20}");
        }
    }
}
