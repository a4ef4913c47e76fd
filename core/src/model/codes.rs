//! Numbers for names: part of the C ABI and of saved simulations. Each enum says its own, once.

/// Gives an enum whose variants have numbers `from_code` and `code`; all of its variants must be named.
macro_rules! from_code {
    ($type:ident: $($name:ident),+ $(,)?) => {
        impl $type {
            /// The name with this number; none if no name has it.
            pub fn from_code(code: i64) -> Option<Self> {
                [$($type::$name),+].into_iter().find(|one| one.code() == code)
            }

            /// The number of this name.
            pub fn code(self) -> i64 {
                match self {
                    $($type::$name => $type::$name as i64,)+
                }
            }
        }
    };
}

pub(crate) use from_code;
