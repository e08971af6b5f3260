#include "data/texts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace omtree {

namespace {

/// Releases a structure of Arrow's when it goes out of scope.
template <typename T> struct Released {
    T &value;

    explicit Released(T &taken) : value(taken) {}
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;
    ~Released() {
        if (value.release != nullptr) {
            value.release(&value);
        }
    }
};

/// Texts shorter than this are their own keys.
constexpr std::size_t short_text = 8;

/// A number that stands for a text: two texts shorter than `short_text` have the same only if they are equal. Reads no
/// further than `readable` bytes.
std::uint64_t key_of(const char *text, std::size_t size, std::size_t readable) {
    std::uint64_t key = 0;
    if (size < short_text) {
        if (std::endian::native == std::endian::little && readable >= sizeof key) {
            std::memcpy(&key, text, sizeof key);
            key &= (std::uint64_t{1} << (8 * size)) - 1;
        } else {
            for (std::size_t i = 0; i < size; ++i) {
                key |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
            }
        }
        return key | std::uint64_t{size} << 56;
    }
    const auto take = [&](const char *place) {
        std::uint64_t word = 0;
        std::memcpy(&word, place, sizeof word);
        key = (key ^ word) * 0x9E3779B97F4A7C15u;
        key ^= key >> 32;
    };
    for (std::size_t i = 0; i + sizeof key < size; i += sizeof key) {
        take(text + i);
    }
    take(text + size - sizeof key); // may take some bytes a second time
    return (key ^ size) | std::uint64_t{1} << 63;
}

/// An open-addressing set of texts, numbered as they come.
class TextSet {
  public:
    TextSet() : slots_(first_capacity) {}

    std::int32_t insert(const char *text, std::size_t size, std::size_t readable) {
        const std::uint64_t key = key_of(text, size, readable);
        const Slot &slot = slots_[place_of(key)];
        // Nearly all cells end here: a short text that came before.
        if (slot.key == key && size < short_text) {
            return slot.number;
        }
        return search(key, text, size);
    }

    std::vector<std::string> &texts() { return texts_; }

  private:
    static constexpr std::size_t first_capacity = 32;
    /// No text has this key: a first byte and no length.
    static constexpr std::uint64_t empty_key = 1;

    struct Slot {
        std::uint64_t key = empty_key;
        std::int32_t number = 0;
    };

    std::size_t place_of(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }

    std::int32_t search(std::uint64_t key, const char *text, std::size_t size) {
        std::size_t place = place_of(key);
        for (; slots_[place].key != empty_key; place = (place + 1) & (slots_.size() - 1)) {
            const auto number = static_cast<std::size_t>(slots_[place].number);
            if (slots_[place].key == key && (size < short_text || texts_[number] == std::string_view(text, size))) {
                return slots_[place].number;
            }
        }
        if (texts_.size() == static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
            throw std::length_error("code_texts: more than 2^31 - 1 different texts");
        }
        const auto number = static_cast<std::int32_t>(texts_.size());
        slots_[place] = {key, number};
        texts_.emplace_back(size == 0 ? "" : text, size);
        if (2 * texts_.size() > slots_.size()) {
            grow();
        }
        return number;
    }

    void grow() {
        const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
        --shift_;
        for (const Slot &slot : before) {
            if (slot.key != empty_key) {
                std::size_t place = place_of(slot.key);
                while (slots_[place].key != empty_key) {
                    place = (place + 1) & (slots_.size() - 1);
                }
                slots_[place] = slot;
            }
        }
    }

    std::vector<Slot> slots_;
    int shift_ = 64 - std::countr_zero(first_capacity);
    std::vector<std::string> texts_;
};

/// Texts one after the other in one buffer; `Offset` is the type of the numbers that say where each begins.
template <typename Offset> class Joined {
  public:
    explicit Joined(const ArrowArray &array)
        : offsets_(static_cast<const Offset *>(array.buffers[1]) + array.offset),
          bytes_(static_cast<const char *>(array.buffers[2])), end_(offsets_[array.length]) {}

    std::int32_t insert_into(TextSet &set, std::int64_t i) const {
        const Offset begin = offsets_[i];
        const auto size = static_cast<std::size_t>(offsets_[i + 1] - begin);
        return set.insert(bytes_ + begin, size, static_cast<std::size_t>(end_ - begin));
    }

  private:
    const Offset *offsets_;
    const char *bytes_;
    Offset end_;
};

/// Texts as views: short ones in the view itself, long ones in one of several buffers.
class Views {
  public:
    explicit Views(const ArrowArray &array)
        : views_(static_cast<const char *>(array.buffers[1]) + view_bytes * array.offset), buffers_(array.buffers + 2) {
    }

    std::int32_t insert_into(TextSet &set, std::int64_t i) const {
        const char *view = views_ + view_bytes * i;
        const auto size = static_cast<std::size_t>(number_at(view));
        if (size <= bytes_inside) {
            return set.insert(view + 4, size, bytes_inside);
        }
        const auto *buffer = static_cast<const char *>(buffers_[number_at(view + 8)]);
        return set.insert(buffer + number_at(view + 12), size, size);
    }

  private:
    static constexpr std::int64_t view_bytes = 16;
    static constexpr std::size_t bytes_inside = 12;

    static std::int32_t number_at(const char *place) {
        std::int32_t number = 0;
        std::memcpy(&number, place, sizeof number);
        return number;
    }

    const char *views_;
    const void *const *buffers_;
};

/// Adds the cells of an array, coded by the numbers of their texts in the set.
template <typename Texts> void add_cells(const ArrowArray &array, TextSet &set, CodedTexts &coded) {
    const Texts texts(array);
    const auto *valid = array.null_count == 0 ? nullptr : static_cast<const std::uint8_t *>(array.buffers[0]);
    const std::size_t before = coded.codes.size();
    coded.codes.resize(before + static_cast<std::size_t>(array.length));
    std::int32_t *code = coded.codes.data() + before;
    for (std::int64_t i = 0; i < array.length; ++i) {
        const std::int64_t bit = array.offset + i;
        if (valid != nullptr && (valid[bit / 8] >> (bit % 8) & 1) == 0) {
            code[i] = -1;
            coded.has_missing = true;
        } else {
            code[i] = texts.insert_into(set, i);
        }
    }
}

using AddCells = void (*)(const ArrowArray &, TextSet &, CodedTexts &);

AddCells reader_of(std::string_view format) {
    if (format == "u") {
        return add_cells<Joined<std::int32_t>>;
    }
    if (format == "U") {
        return add_cells<Joined<std::int64_t>>;
    }
    if (format == "vu") {
        return add_cells<Views>;
    }
    throw std::invalid_argument("code_texts: an Arrow column of format '" + std::string(format) + "' holds no texts");
}

void check(int failure, ArrowStream &stream) {
    if (failure != 0) {
        const char *reason = stream.get_last_error(&stream);
        throw std::runtime_error(std::string("code_texts: ") + (reason == nullptr ? "no more cells" : reason));
    }
}

AddCells reader_of(ArrowStream &stream) {
    ArrowSchema schema{};
    const Released released(schema);
    check(stream.get_schema(&stream, &schema), stream);
    return reader_of(schema.format);
}

/// Sorts the levels, and gives the cells their positions there.
void sort_levels(std::vector<std::string> &texts, CodedTexts &coded) {
    if (std::is_sorted(texts.begin(), texts.end())) {
        coded.levels = std::move(texts);
        return;
    }
    std::vector<std::size_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return texts[a] < texts[b]; });
    // The first entry is for missing cells.
    std::vector<std::int32_t> position(texts.size() + 1, -1);
    for (std::size_t place = 0; place < order.size(); ++place) {
        position[order[place] + 1] = static_cast<std::int32_t>(place);
        coded.levels.push_back(std::move(texts[order[place]]));
    }
    for (std::int32_t &code : coded.codes) {
        code = position[static_cast<std::size_t>(code + 1)];
    }
}

} // namespace

CodedTexts code_texts(ArrowStream &stream) {
    const Released released(stream);
    const AddCells add = reader_of(stream);
    CodedTexts coded;
    TextSet set;
    while (true) {
        ArrowArray array{};
        const Released part(array);
        check(stream.get_next(&stream, &array), stream);
        if (array.release == nullptr) {
            break;
        }
        if (array.length > 0) {
            add(array, set, coded);
        }
    }
    sort_levels(set.texts(), coded);
    return coded;
}

} // namespace omtree
